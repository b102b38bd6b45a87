import type { JsonPointer } from '../values/json.ts'
import { canonicalJson, toJson } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { ArgRole, Effect, ToolInfo } from './tool-info.ts'

/** What is odd about a value that a human is to agree to. */
export type WarningKind =
  /** It holds characters that nobody sees, or that turn the reading direction. */
  | 'hidden-characters'
  /** One word of an address mixes letters of several scripts. */
  | 'mixed-scripts'
  /** A host is written in its coded form, `xn--…`. */
  | 'punycode'
  /** It looks like an address that the user or an earlier call named, and is another one. */
  | 'lookalike'
  /** A web address has a name before an `@`, which readers take for its host. */
  | 'userinfo'
  /** It is too large to be looked through. */
  | 'not-checked'

/** One warning about a value of the input. The text is safe to print. */
export interface QuestionWarning {
  readonly path: JsonPointer
  readonly kind: WarningKind
  readonly text: string
}

/** Where a policy traced an argument to. */
export interface ArgumentOrigin {
  readonly path: JsonPointer
  readonly role: ArgRole
  /** In the words of the policy, such as `own`, `trusted`, `value`, `prose`, `nowhere`. */
  readonly kind: string
  readonly sources: readonly string[]
}

/** What a question is about, as it was when it was asked. */
export interface QuestionSubject {
  /** Of the tool. */
  readonly effect: Effect
  /** What the arguments mean, by JSON pointer. */
  readonly roles: Readonly<Record<JsonPointer, ArgRole>>
  /** The join over all that the input was written from; its `sources` say where that came from. */
  readonly label: Label
  /** Of single arguments, where a policy traced them. */
  readonly origins?: readonly ArgumentOrigin[]
  /**
   * SHA-256 of the tool's definition ({@link definitionText}). The answer holds for this definition alone. Absent for an
   * answer of the model that is held back, and in logs of releases that did not write it.
   */
  readonly definitionHash?: string
  /** Where what the tool executes runs. Absent: with the rights of the process. */
  readonly sandbox?: ToolInfo['sandbox']
  readonly warnings?: readonly QuestionWarning[]
}

/** What stands for the subject of a question whose log does not tell it: the strictest of everything. */
export const unknownSubject: QuestionSubject = Object.freeze({
  effect: 'egress',
  roles: Object.freeze({}),
  label: Object.freeze({ integrity: 'untrusted', confidentiality: 'secret', sources: Object.freeze(['*']) }),
})

/**
 * Returns what an approval is bound to of a tool, as one text to hash: name, version, input schema, effect, argument roles
 * and sandbox. What `execute` does is not in it: raise the tool's `version` when that changes.
 */
export function definitionText({ name, version, inputSchema, effect, roles, sandbox }: ToolInfo): string {
  return canonicalJson(
    toJson({ name, version: version ?? null, inputSchema, effect, roles, ...(sandbox && { sandbox }) }),
  )
}
