import type { ToolOutput } from '../messages/message.ts'
import type { ErrorInfo } from '../values/error.ts'
import type { Json, JsonPointer } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { JsonSchema } from '../values/schema.ts'
import type { Isolation } from './runtime.ts'

/** What a tool does to the world. `egress`: an outside party can learn something from the call. */
export type Effect = 'none' | 'read' | 'write' | 'egress'

/**
 * What becomes of a result that is too long for the model: it keeps the head, it loses the middle, or the whole is kept
 * in the session's store and the model gets a handle to read it by.
 */
export type Truncation = 'head' | 'middle' | 'spill'

/** What everybody may know of a tool. */
export interface ToolInfo {
  readonly name: string
  /** Of its definition: an approval given for one version does not hold for another. */
  readonly version?: string
  readonly title?: string
  readonly description?: string
  readonly effect: Effect
  readonly roles: Readonly<Record<JsonPointer, ArgRole>>
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  /** Running it again with the same idempotency key changes nothing. */
  readonly idempotent: boolean
  /** It has no `execute`: the run waits for a result from elsewhere. */
  readonly remote: boolean
  /** It acts only through the calls it makes, and is entered again after a crash. */
  readonly composite: boolean
  /** Kept out of the catalogue until it is searched for. */
  readonly deferred: boolean
  /** It has to do with the conversation itself: a model calls it, and no script of the model. */
  readonly modelOnly?: true
  /** The tool set it came in, such as the name of an MCP server: its texts are not the developer's own. */
  readonly set?: string
  /**
   * What its definition adds to the label of all that a model writes which was shown it, where nobody has accepted the
   * definition. Absent: nothing.
   */
  readonly reading?: Label
  /** About how many tokens of a result the model gets. Absent: 16,384. */
  readonly maxResultTokens?: number
  /** What becomes of a longer result. Absent: `head`. */
  readonly truncation?: Truncation
  /** What the runtime has to give for what it executes. Absent: nothing is asked for. */
  readonly sandbox?: Exclude<Isolation, 'none'>
  /** What a sanitiser does with untrusted results of it, if not what it does with all: `false` leaves them alone. */
  readonly sanitize?: boolean | InboundPolicy
}

/** What is done with suspicious text that comes in: noted, taken out, set between unguessable marks. */
export type InboundPolicy = 'flag' | 'strip' | 'wrap' | 'strip+wrap'

/** A call as hooks see it: the JSON that the model wrote or a hook rewrote, before the schema's transforms. */
export interface ToolCall<In = Json> {
  readonly callId: string
  readonly tool: ToolInfo
  readonly input: In
  /** The label of the words it was written in. */
  readonly label: Label
  /** The composite call that makes this one. */
  readonly parentCallId?: string
}

/** A result as hooks see it. */
export interface ToolResult<Out = Json> {
  readonly callId: string
  /** The composite call that made this one: the result goes to it, and not to the model. */
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
  /** Why a call came to nothing, as the composite that made it is told. */
  readonly error?: ErrorInfo
}

/** What an argument means to a policy. */
export type ArgRole = 'destination' | 'content' | 'selector' | 'attachment' | 'credential' | 'amount' | 'time' | 'flag'

/** How a call ended. */
export type CallOutcome = 'ok' | 'error' | 'denied' | 'skipped' | 'timeout' | 'aborted'

/** Who gave a result. */
export type ResultSource = 'executed' | 'remote' | 'provider' | 'hook' | 'human' | 'cache' | 'log'
