import type { MCPClientConfig } from '@ai-sdk/mcp'
import type { Json, JsonSchema, MaybePromise, StandardSchemaV1, Tool } from '@provost/core'

import type { ToolOptions } from '../definition/tool-options.ts'
import type { SchemaProblem } from '../foreign-schema/schema-review.ts'

type OAuthProvider = Extract<MCPClientConfig['transport'], { type: 'sse' | 'http' }>['authProvider']

/** How to reach a server. */
export type McpTransport =
  | {
      /** A program on this machine, over its standard input and output. */
      readonly type: 'stdio'
      readonly command: string
      readonly args?: readonly string[]
      /** Variables for the server besides PATH, HOME, LANG, TERM and TMPDIR of this process. */
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

/** What a server declares of its tool, unchecked. It changes no effect; `configure` may read it. */
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

/** Settings of the operator: all options of `tool()` that do not define the tool. */
export type McpToolSettings = Partial<
  Omit<
    ToolOptions<StandardSchemaV1, unknown, unknown, StandardSchemaV1>,
    'name' | 'title' | 'description' | 'input' | 'output' | 'execute'
  >
>

/** An omitted tool, and the reason. */
export interface RefusedMcpTool {
  /** As the server calls it. */
  readonly name: string
  readonly reason: 'changed' | 'new' | 'too-large' | 'invalid'
  /** In one sentence. */
  readonly why: string
  /** The fingerprint that `accept` needs for a `changed` or `new` tool. */
  readonly fingerprint?: string
}

/** A store for the fingerprints of one server. See {@link fingerprintFile}. */
export interface McpFingerprints {
  /** @returns undefined before the first connection. */
  read(): MaybePromise<Readonly<Record<string, string>> | undefined>
  /** Called by the first connection. An earlier value stays: the first of several writers decides. */
  write(fingerprints: Readonly<Record<string, string>>): MaybePromise<void>
}

/** A call that is about to be sent to a server. */
export interface McpCallInfo {
  readonly method: 'tools/call'
  /** As you call it. */
  readonly server: string
  /** As the server calls it. */
  readonly tool: string
  /** Id of the JSON-RPC request. */
  readonly requestId: string | number
  readonly transport: McpTransport['type']
}

/** Options of {@link mcpTools}. */
export interface McpOptions {
  /** Your name for the server, used in labels, as `mcp:NAME`, and in errors. */
  readonly name: string
  readonly transport: McpTransport
  /** Milliseconds that a call may take. Default 60,000. */
  readonly timeoutMs?: number
  /** Milliseconds that starting, greeting and listing may take together. Default 30,000. */
  readonly connectTimeoutMs?: number
  /**
   * How elicitations of the server during a call are handled. `ask` passes them to the handlers of the run: `onInput`,
   * its stream, its session. The user sees the name of the server, which receives the response. `refuse` does not
   * advertise the capability. Default `ask`.
   */
  readonly elicitation?: 'ask' | 'refuse'
  /** Bytes that one message of the server may have. Default 16 MB. */
  readonly maxMessageBytes?: number
  /**
   * Fingerprints by tool name, from `fingerprints` of an earlier connection, or a store for them: the first connection
   * writes it, and later ones must match it. Absent: the definitions at the start of the connection are accepted for
   * its duration.
   */
  readonly accept?: Readonly<Record<string, string>> | McpFingerprints
  /**
   * How a tool is handled that is new or has changed since it was accepted. `refuse`: it is rejected. `untrusted`: it
   * is offered, and everything that a model writes after reading it is labelled untrusted, from `mcp:NAME`; settings
   * that lower its guards (effect, idempotence, labels of results, caching) do not apply. Default `refuse`.
   */
  readonly unaccepted?: 'refuse' | 'untrusted'
  /** Receives each rejected tool, which is then omitted. Absent: `mcpTools` rejects. */
  readonly onRefused?: (refused: RefusedMcpTool) => void
  /**
   * The `_meta` of each call, such as a trace context. Called in the async context of the call.
   *
   * @param call which method, of which tool of which server.
   */
  readonly meta?: (call: McpCallInfo) => Readonly<Record<string, Json>>
  /**
   * Your settings for a tool by its name, such as its effect (default `egress`), roles or approval; `leave-out` omits
   * it.
   */
  readonly configure?: (definition: McpDefinition) => McpToolSettings | 'leave-out' | undefined
}

/** A connection to a server, and its tools. */
export interface McpTools extends AsyncDisposable {
  readonly name: string
  readonly tools: readonly Tool[]
  /** Of all definitions that are accepted, by tool name: store them, pass them as `accept` next time. */
  readonly fingerprints: Readonly<Record<string, string>>
  /** Tools that are offered although their definitions are not accepted, under `unaccepted: 'untrusted'`. */
  readonly unaccepted: readonly RefusedMcpTool[]
  /** Parts of the schemas that cannot be checked here, by tool name. The server has to check them. */
  readonly unchecked: Readonly<Record<string, readonly SchemaProblem[]>>
  /** The usage instructions of the server, in untrusted text. They reach no model unless you pass them on. */
  readonly instructions?: string
  /**
   * Reads a resource of the server: a text as text, anything else as bytes.
   *
   * @param range bytes, `to` exclusive; a text is cut between characters. Default: all of it.
   * @throws ProvostError `mcp-error`, `mcp-timeout`, `mcp-closed`, …
   */
  reader(uri: string, range?: { readonly from: number; readonly to: number }): Promise<string | Uint8Array>
  /** Ends the connection; a stdio server has ended, and so has all it started, when this resolves. Never rejects. */
  close(): Promise<void>
}
