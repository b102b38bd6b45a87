import { isRecord, ProvostError } from '@provost/core'
import type { JsonSchema, Label, StandardSchemaV1, Tool } from '@provost/core'

import { withInfo } from '../definition/define-tool.ts'
import { defaultTimeoutMs, tool } from '../definition/tool.ts'
import { foreignSchema, schemaProblems } from '../foreign-schema/foreign-schema.ts'
import type {
  McpFingerprints,
  McpOptions,
  McpTools,
  McpToolSettings,
  RefusedMcpTool,
} from '../mcp-transport/mcp-options.ts'
import { serverSchema, serverText } from '../mcp-transport/server-text.ts'
import type { Connection, Definitions } from './connection.ts'
import { resultValue } from './content.ts'
import { judgeDefinitions, refusal } from './definitions.ts'
import type { Accepted } from './definitions.ts'
import { checkMcpOptions, checkMcpSettings } from './known-options.ts'
import { readRange } from './resource.ts'
import { safeNames } from './safe-name.ts'

const defaultConnectTimeoutMs = 30_000
const defaultMaxMessageBytes = 16 * 1024 * 1024
const maxDescriptionLength = 4_096
const maxTitleLength = 200

/**
 * Connects to an MCP server and makes tools of what it offers.
 *
 * Nothing from a server is trusted. Results are untrusted and come from `mcp:NAME`. Every tool is `egress` and not
 * idempotent unless `configure` states otherwise; annotations change nothing. Shown definitions are bounded and without
 * invisible characters, and names are made valid. A definition is fixed when the connection is made: if the server
 * changes it, the tool becomes unusable. An elicitation names the server, and its content is untrusted.
 *
 * @throws ProvostError `unknown-option`; `mcp-start-failed`, `mcp-timeout`, `mcp-closed`, `mcp-unauthorized`,
 * `mcp-error` without a connection; `mcp-definition-changed`, `mcp-invalid-definition` for rejected tools without
 * `onRefused`. The server has ended by then.
 *
 * @example
 * await using files = await mcpTools({
 *   name: 'files',
 *   transport: { type: 'stdio', command: 'mcp-server-filesystem', args: ['/srv/docs'] },
 * })
 * const agent = createAgent({ name: 'clerk', model, tools: files.tools })
 */
export async function mcpTools(options: McpOptions): Promise<McpTools> {
  checkMcpOptions(options)
  const { name, timeoutMs = defaultTimeoutMs, connectTimeoutMs = defaultConnectTimeoutMs } = options
  const { elicitation = 'ask' } = options
  const deadline = AbortSignal.timeout(connectTimeoutMs)
  const maxMessageBytes = options.maxMessageBytes ?? defaultMaxMessageBytes
  // Loaded with the first connection, since the protocol is a separate library.
  const { connect } = await import('./connection.ts')
  const connection = await connect({ ...options, elicitation, connectTimeoutMs, maxMessageBytes }, deadline)
  try {
    const listed = await connection.list(deadline)
    const judged = judgeDefinitions(listed, await acceptedBy(options.accept, listed), options.unaccepted)
    const watch = createWatch(name, connection, judged.accepted, connectTimeoutMs)
    const made = makeTools(options, judged.accepted, connection, watch)
    const refused = [...judged.refused, ...made.refused]
    if (refused.length > 0 && !options.onRefused) throw refusal(name, refused)
    for (const one of refused) options.onRefused?.(one)
    const { instructions } = connection
    let unchecked: McpTools['unchecked'] | undefined
    return {
      name,
      tools: made.tools,
      fingerprints: fingerprintsOf(judged.accepted.filter(({ unaccepted }) => !unaccepted)),
      unaccepted: judged.accepted.flatMap(({ unaccepted }) => unaccepted ?? []),
      get unchecked() {
        return (unchecked ??= uncheckedIn(judged.accepted))
      },
      ...(instructions !== undefined && { instructions }),
      reader: async (uri, range) => {
        const signal = AbortSignal.timeout(timeoutMs)
        try {
          return readRange(await connection.read(uri, signal), range)
        } catch (error) {
          if (!signal.aborted) throw error
          const what = `The MCP server ${name} did not give ${serverText(uri, 200)} within ${timeoutMs} ms.`
          throw new ProvostError('mcp-timeout', what, { hint: 'Try again, or raise timeoutMs.', cause: error })
        }
      },
      close: () => connection.close(),
      [Symbol.asyncDispose]: () => connection.close(),
    }
  } catch (error) {
    await connection.close()
    throw error
  }
}

/**
 * Returns the accepted fingerprints. If none are stored, these are the current ones, or those of a faster connection.
 */
async function acceptedBy(
  accept: McpOptions['accept'],
  listed: Definitions,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (!isStore(accept)) return accept
  const kept = await accept.read()
  if (kept) return kept
  await accept.write(fingerprintsOf(judgeDefinitions(listed, undefined).accepted))
  return accept.read()
}

function fingerprintsOf(accepted: readonly Accepted[]): Readonly<Record<string, string>> {
  return Object.fromEntries(accepted.map(({ definition, fingerprint }) => [definition.name, fingerprint]))
}

function isStore(accept: McpOptions['accept']): accept is McpFingerprints {
  return accept !== undefined && typeof accept['read'] === 'function'
}

function uncheckedIn(accepted: readonly Accepted[]): McpTools['unchecked'] {
  return Object.fromEntries(
    accepted.flatMap(({ definition: { name, inputSchema, outputSchema } }) => {
      const problems = [...schemaProblems(inputSchema), ...(outputSchema ? schemaProblems(outputSchema) : [])]
      return problems.length > 0 ? [[name, problems]] : []
    }),
  )
}

function makeTools(
  options: McpOptions,
  accepted: readonly Accepted[],
  connection: Connection,
  watch: Watch,
): { readonly tools: Tool[]; readonly refused: RefusedMcpTool[] } {
  const tools: Tool[] = []
  const refused: RefusedMcpTool[] = []
  const names = safeNames(accepted.map(({ definition }) => definition.name))
  for (const one of accepted) {
    const { name } = one.definition
    const settings = options.configure?.(one.definition)
    if (settings === 'leave-out') continue
    checkMcpSettings(settings, options.name, name)
    try {
      tools.push(makeTool(options, one, names.get(name) ?? name, settings ?? {}, connection, watch))
    } catch (error) {
      if (!(error instanceof ProvostError)) throw error
      refused.push({ name, reason: 'invalid', why: error.message.replace(/\.$/, '') })
    }
  }
  return { tools, refused }
}

function makeTool(
  { name: server, timeoutMs = defaultTimeoutMs }: McpOptions,
  { definition, fingerprint, unaccepted }: Accepted,
  name: string,
  settings: McpToolSettings,
  connection: Connection,
  watch: Watch,
): Tool {
  const { description = '', inputSchema, outputSchema, annotations } = definition
  const title = serverText(definition.title ?? annotations?.title ?? '', maxTitleLength)
  const made = tool({
    // The annotation of the server is a hint: the operator sets it by name.
    effect: 'egress',
    returns: { integrity: 'untrusted', sources: [`mcp:${server}`] },
    timeoutMs,
    ...(unaccepted ? guarding(settings) : settings),
    name,
    ...(title && { title }),
    description: serverText(description, maxDescriptionLength),
    input: checked(inputSchema),
    ...(outputSchema && { output: checked(outputSchema) }),
    execute: async (input: unknown, { signal, ask }) => {
      await watch.check(definition.name, fingerprint)
      const called = await connection.call(definition.name, isRecord(input) ? input : {}, signal, ask)
      return resultValue(name, called, outputSchema !== undefined)
    },
  })
  const reading: Label = { integrity: 'untrusted', confidentiality: 'public', sources: [`mcp:${server}`] }
  return withInfo(made, { set: server, ...(unaccepted && { reading }) })
}

/** Settings for another definition of this name: only those that guard, or that policies ignore, apply to this one. */
function guarding(settings: McpToolSettings): McpToolSettings {
  const { needsApproval, timeoutMs, maxResultTokens, truncation, executionMode, args, deferLoading } = settings
  return {
    ...(needsApproval !== undefined && { needsApproval }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(maxResultTokens !== undefined && { maxResultTokens }),
    ...(truncation !== undefined && { truncation }),
    ...(executionMode !== undefined && { executionMode }),
    ...(args !== undefined && { args }),
    ...(deferLoading !== undefined && { deferLoading }),
  }
}

/**
 * Returns a schema for the input. A check that takes too long passes: the server enforces its schema itself, and its
 * results are untrusted.
 */
function checked(schema: JsonSchema): StandardSchemaV1 {
  return foreignSchema(serverSchema(schema), { vendor: 'mcp', beyond: 'valid' })
}

/** Compares the definitions again when the server reports a change. */
interface Watch {
  /** @throws ProvostError `mcp-definition-changed` */
  check(name: string, fingerprint: string): Promise<void>
}

function createWatch(server: string, connection: Connection, accepted: readonly Accepted[], timeoutMs: number): Watch {
  let current = new Map(accepted.map(({ definition, fingerprint }) => [definition.name, fingerprint]))
  let looking: Promise<void> | undefined
  const look = async (): Promise<void> => {
    try {
      const judged = judgeDefinitions(await connection.list(AbortSignal.timeout(timeoutMs)), undefined)
      current = new Map(judged.accepted.map(({ definition, fingerprint }) => [definition.name, fingerprint]))
    } finally {
      looking = undefined
    }
  }
  return {
    async check(name, fingerprint) {
      if (connection.stale || looking) await (looking ??= look())
      const now = current.get(name)
      if (now === fingerprint) return
      throw now === undefined
        ? new ProvostError('mcp-definition-changed', `The MCP server ${server} no longer offers the tool "${name}".`)
        : refusal(server, [
            {
              name,
              reason: 'changed',
              why: `the definition of "${name}" has changed since it was accepted`,
              fingerprint: now,
            },
          ])
    },
  }
}
