import type { MCPClientConfig } from '@ai-sdk/mcp'
import type { Json, JsonSchema, MaybePromise, StandardSchemaV1, Tool } from '@provost/core'

import type { ToolOptions } from '../definition/tool-options.ts'
import type { SchemaProblem } from '../foreign-schema/schema-review.ts'

type OAuthProvider = Extract<MCPClientConfig['transport'], { type: 'sse' | 'http' }>['authProvider']

/** How a server is reached. */
export type McpTransport =
  | {
      /** A program of this machine, spoken to over its standard input and output. */
      readonly type: 'stdio'
      readonly command: string
      readonly args?: readonly string[]
      /** Variables it gets besides PATH, HOME, LANG, TERM and TMPDIR, which alone are handed down. */
      readonly env?: Readonly<Record<string, string>>
      readonly cwd?: string
    }
  | {
      /** Streamable HTTP. */
      readonly type: 'http'
      /** Redirects from it are refused. */
      readonly url: string | URL
      /** Sent with every request, such as `Authorization`. */
      readonly headers?: Readonly<Record<string, string>>
      /** OAuth, as `@ai-sdk/mcp` takes it. */
      readonly authProvider?: NonNullable<OAuthProvider>
    }

/** What a server says its tool does: its own, unchecked word. It changes no effect; `configure` may look at it. */
export interface McpEffects {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

/** A tool as its server describes it. None of it is verified. */
export interface McpDefinition {
  /** As the server calls it. */
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  readonly annotations?: McpEffects
}

/** What you know better than the server: anything that `tool()` takes besides what makes the tool what it is. */
export type McpToolSettings = Partial<
  Omit<
    ToolOptions<StandardSchemaV1, unknown, unknown, StandardSchemaV1>,
    'name' | 'title' | 'description' | 'input' | 'output' | 'execute'
  >
>

/** A tool that was left out, and why. */
export interface RefusedMcpTool {
  /** As the server calls it. */
  readonly name: string
  readonly reason: 'changed' | 'new' | 'too-large' | 'invalid'
  /** In one sentence. */
  readonly why: string
  /** What `accept` has to hold for a `changed` or `new` one. */
  readonly fingerprint?: string
}

/** Where the fingerprints of one server are kept. See {@link fingerprintFile}. */
export interface McpFingerprints {
  /** @returns undefined before the first connection. */
  read(): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Called by the first connection. What was written before stays: the first of several to write decides. */
  write(fingerprints: Readonly<Record<string, string>>): MaybePromise<void>
}

/** A call that is about to be sent to a server. */
export interface McpCallInfo {
  readonly method: 'tools/call'
  /** As you call it. */
  readonly server: string
  /** As the server calls it. */
  readonly tool: string
}

/** What {@link mcpTools} takes. */
export interface McpOptions {
  /** What you call the server: it stands in labels, as `mcp:NAME`, and in errors. */
  readonly name: string
  readonly transport: McpTransport
  /** Milliseconds a call may take, whatever the server does. Default 60,000. */
  readonly timeoutMs?: number
  /** Milliseconds that starting, greeting and listing may take together. Default 30,000. */
  readonly connectTimeoutMs?: number
  /**
   * How questions of the server to the user are handled while a call of its tools runs. `ask` passes them to the handlers of
   * the run: `onInput`, its stream, its session. The person who answers sees the name of the server, which receives the
   * answer. `refuse` does not advertise the capability to the server. Default `ask`.
   */
  readonly elicitation?: 'ask' | 'refuse'
  /** How long one message of the server may be, in bytes. Default 16 MB. */
  readonly maxMessageBytes?: number
  /**
   * Fingerprints by tool name, as `fingerprints` of an earlier connection gave them, or where they are kept: the first
   * connection then writes them, and later ones are held to them. Absent: what the server defines when the connection is
   * made is accepted for as long as the connection lasts.
   */
  readonly accept?: Readonly<Record<string, string>> | McpFingerprints
  /**
   * What becomes of a tool that has changed since it was accepted, or was not there. `refuse`: it is refused. `untrusted`:
   * it is offered, and all that a model writes which was shown it is labelled untrusted, from `mcp:NAME`; settings for it
   * that lower what is guarded (effect, idempotence, labels of results, caching) do not hold. Default `refuse`.
   */
  readonly unaccepted?: 'refuse' | 'untrusted'
  /** Receives each refused tool, which is then left out. Absent: `mcpTools` rejects. */
  readonly onRefused?: (refused: RefusedMcpTool) => void
  /**
   * What goes with each call as its `_meta`, such as the context of a trace. Called in the async context of the call.
   *
   * @param call which method, of which tool of which server.
   */
  readonly meta?: (call: McpCallInfo) => Readonly<Record<string, Json>>
  /** Your settings for a tool by its name, such as its effect (default `egress`), roles or approval; `leave-out` for one you do not want. */
  readonly configure?: (definition: McpDefinition) => McpToolSettings | 'leave-out' | undefined
}

/** A connection to a server and the tools it gave. */
export interface McpTools extends AsyncDisposable {
  readonly name: string
  readonly tools: readonly Tool[]
  /** Of all definitions that are accepted, by tool name: store them, pass them as `accept` next time. */
  readonly fingerprints: Readonly<Record<string, string>>
  /** Tools that are offered although their definitions are not accepted, under `unaccepted: 'untrusted'`. */
  readonly unaccepted: readonly RefusedMcpTool[]
  /** What is in the schemas of the server that cannot be checked here, by tool name. The server has to check it. */
  readonly unchecked: Readonly<Record<string, readonly SchemaProblem[]>>
  /** How the server wants to be used, in its own, untrusted words. Goes to no model unless you pass it on. */
  readonly instructions?: string
  /**
   * Reads a resource that a result has linked to, or another one of the server: a text is given as text, anything else as
   * bytes.
   *
   * @param range bytes, `to` is the first one not wanted; a text is cut between characters. Default: all of it.
   * @throws ProvostError `mcp-error`, `mcp-timeout`, `mcp-closed`, …
   */
  reader(uri: string, range?: { readonly from: number; readonly to: number }): Promise<string | Uint8Array>
  /** Ends the connection; a stdio server has ended, and so has all it started, when this resolves. Never rejects. */
  close(): Promise<void>
}
