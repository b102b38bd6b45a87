import type { ToolOutput } from '../messages/message.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { Json, JsonPointer } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { Isolation } from './runtime.ts'

/** The effect of a tool. `egress`: an outside party can learn something from the call. */
export type Effect = 'none' | 'read' | 'write' | 'egress'

/**
 * How a result that is too long for the model is shortened. `head` keeps its beginning, `middle` removes its middle,
 * `spill` stores the whole in the session's store and gives the model a handle to read it.
 */
export type Truncation = 'head' | 'middle' | 'spill'

/** The public description of a tool. */
export interface ToolInfo {
  readonly name: string
  /** The version of its definition: an approval for one version does not hold for another. */
  readonly version?: string
  readonly title?: string
  readonly description?: string
  readonly effect: Effect
  readonly roles: Readonly<Record<JsonPointer, ArgRole>>
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  /** Running it again with the same idempotency key has no further effect. */
  readonly idempotent: boolean
  /** It has no `execute`: the run waits for a result from outside. */
  readonly remote: boolean
  /** It acts only through the calls it makes, and is entered again after a crash. */
  readonly composite: boolean
  /** Left out of the catalogue until a search finds it. */
  readonly deferred: boolean
  /** It acts on the conversation itself: only a model may call it, not a script of the model. */
  readonly modelOnly?: true
  /** The tool set it belongs to, such as the name of an MCP server: its texts are not the developer's own. */
  readonly set?: string
  /**
   * Label of a definition that is not accepted: joined to everything that a model writes after it received the definition.
   * Absent: nothing is joined.
   */
  readonly reading?: Label
  /** How many tokens of a result the model receives, approximately. Absent: 16,384. */
  readonly maxResultTokens?: number
  /** How a longer result is shortened. Absent: `head`. */
  readonly truncation?: Truncation
  /** The isolation that the runtime must provide for it. Absent: none is required. */
  readonly sandbox?: Exclude<Isolation, 'none'>
  /** Overrides how a sanitiser treats its untrusted results; `false` leaves them unchanged. */
  readonly sanitize?: boolean | InboundPolicy
}

/** How suspicious incoming text is treated: recorded, removed, enclosed in unguessable marks. */
export type InboundPolicy = 'flag' | 'strip' | 'wrap' | 'strip+wrap'

/** A call as hooks see it: the JSON that the model wrote or a hook rewrote, before the schema's transforms. */
export interface ToolCall<In = Json> {
  readonly callId: string
  readonly tool: ToolInfo
  readonly input: In
  /** The label of the message that contains it. */
  readonly label: Label
  /** The composite call that makes this one. */
  readonly parentCallId?: string
  /** Where each argument comes from, if the composite followed its values. */
  readonly flow?: CallFlow
}

/** Where the arguments of a call come from, as the composite that makes it followed them. */
export interface CallFlow {
  /** The label of the decision to make this call: of the branches and loops around it, and of what selected the tool. */
  readonly control: Label
  /** Numbers of the composite's calls whose results are in `control`. */
  readonly calls: readonly number[]
  /** Lines of the script with the branches and loops that decided. */
  readonly lines: readonly number[]
  /** Labels by JSON pointer, empty for the whole, each for a value and all below it. Other values are the composite's own. */
  readonly at: Readonly<Record<string, Label>>
  /** Numbers of the composite's calls that a value comes from, by the same pointers. */
  readonly from: Readonly<Record<string, readonly number[]>>
}

/** A result as hooks see it. */
export interface ToolResult<Out = Json> {
  readonly callId: string
  /** The composite call that made this one and receives its result instead of the model. */
  readonly parentCallId?: string
  readonly tool: ToolInfo
  readonly input: Json
  readonly outcome: CallOutcome
  readonly via: ResultSource
  readonly value?: Out
  readonly output: ToolOutput
  readonly label: Label
  readonly fields?: Readonly<Record<JsonPointer, Label>>
  readonly details?: Json
  /** Why a call failed, as the composite that made it receives it. */
  readonly error?: ErrorInfo
}

/** What an argument means to a policy. */
export type ArgRole = 'destination' | 'content' | 'selector' | 'attachment' | 'credential' | 'amount' | 'time' | 'flag'

/** How a call ended. */
export type CallOutcome = 'ok' | 'error' | 'denied' | 'skipped' | 'timeout' | 'aborted'

/** The source of a result. `import`: the call was made elsewhere, before its session was imported as a record. */
export type ResultSource = 'executed' | 'remote' | 'provider' | 'hook' | 'human' | 'cache' | 'ledger' | 'log' | 'import'
