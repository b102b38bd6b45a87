import type { JsonPointer } from '../values/json.ts'
import { canonicalJson, toJson } from '../values/json.ts'
import type { Label } from '../values/label.ts'
import type { ArgRole, Effect, ToolInfo } from './tool-info.ts'

/** What is suspicious about a value that a human is asked to approve. */
export type WarningKind =
  /** It contains invisible characters, or characters that change the reading direction. */
  | 'hidden-characters'
  /** One word of an address mixes letters of several scripts. */
  | 'mixed-scripts'
  /** A host is written in its coded form, `xn--…`. */
  | 'punycode'
  /** It looks like an address that the user or an earlier call named, but differs from it. */
  | 'lookalike'
  /** A web address has a name before an `@`, which a reader may take for its host. */
  | 'userinfo'
  /** It is too large to be checked. */
  | 'not-checked'

/** One warning about a value of the input. The text is safe to print. */
export interface QuestionWarning {
  readonly path: JsonPointer
  readonly kind: WarningKind
  readonly text: string
}

/** The origin of an argument, as a policy traced it. */
export interface ArgumentOrigin {
  readonly path: JsonPointer
  readonly role: ArgRole
  /** In the terms of the policy, such as `own`, `trusted`, `value`, `prose`, `nowhere`. */
  readonly kind: string
  readonly sources: readonly string[]
}

/** The subject of a question, as it was when it was asked. */
export interface QuestionSubject {
  /** The version of the tool. */
  readonly effect: Effect
  /** Roles of the arguments, by JSON pointer. */
  readonly roles: Readonly<Record<JsonPointer, ArgRole>>
  /** The join over everything that the input was written from; `sources` names the origins. */
  readonly label: Label
  /** Origins of single arguments, where a policy traced them. */
  readonly origins?: readonly ArgumentOrigin[]
  /**
   * SHA-256 of the tool's definition ({@link definitionText}). The answer holds only for this definition. Absent for a
   * held response of the model, and in logs of releases that did not record it.
   */
  readonly definitionHash?: string
  /** The sandbox of the tool. Absent: the tool runs with the rights of the process. */
  readonly sandbox?: ToolInfo['sandbox']
  readonly warnings?: readonly QuestionWarning[]
}

/** The subject of a question whose log does not contain it: the strictest values. */
export const unknownSubject: QuestionSubject = Object.freeze({
  effect: 'egress',
  roles: Object.freeze({}),
  label: Object.freeze({ integrity: 'untrusted', confidentiality: 'secret', sources: Object.freeze(['*']) }),
})

/**
 * Returns what an approval of a tool is bound to, as one text to hash: name, version, input schema, effect, argument roles
 * and sandbox. The code of `execute` is not included: raise the tool's `version` when it changes.
 */
export function definitionText({ name, version, inputSchema, effect, roles, sandbox }: ToolInfo): string {
  return canonicalJson(
    toJson({ name, version: version ?? null, inputSchema, effect, roles, ...(sandbox && { sandbox }) }),
  )
}
