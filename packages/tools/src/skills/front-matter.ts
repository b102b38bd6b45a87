import { isRecord, ProvostError } from '@provost/core'

/** The front matter of a SKILL.md, and its text. */
export interface SkillText {
  readonly name: string
  readonly when: string
  readonly body: string
}

/** The most characters of the part between the `---` lines. */
const maxFrontMatter = 16_384
/** The most characters of an occasion: all of them are in every prompt. */
const maxWhen = 1024
const maxAliases = 10

/**
 * Parses a SKILL.md.
 *
 * @param file names it in errors.
 * @throws ProvostError `invalid-skill` naming the file and the line.
 */
export async function parseSkill(text: string, file: string): Promise<SkillText> {
  const { yaml, body } = split(text, file)
  const fields = await fieldsOf(yaml, file)
  const lineOf = (key: string): number =>
    Math.max(
      0,
      yaml.split('\n').findIndex((row) => row.startsWith(`${key}:`)),
    ) + 2
  const name = Object.hasOwn(fields, 'name') ? fields['name'] : undefined
  if (typeof name !== 'string' || !isSkillName(name)) {
    throw invalidSkill(`${file}:${lineOf('name')}`, `its name is ${quote(name)}`, nameHint)
  }
  const key = Object.hasOwn(fields, 'when') ? 'when' : 'description'
  const when = Object.hasOwn(fields, key) ? oneLine(fields[key]) : undefined
  if (when === undefined) {
    const hint = `Write, as one text of at most ${maxWhen} characters, what it is for and when to load it.`
    throw invalidSkill(`${file}:${lineOf(key)}`, `it has no ${key} that can be used`, hint)
  }
  return { name, when, body: body.trim() }
}

const nameHint = 'Use 1 to 64 letters, digits, _ and -.'

/** Returns whether a name is valid for a skill. */
function isSkillName(name: string): boolean {
  return /^[\w-]{1,64}$/.test(name)
}

/** Returns a text as one line of a list; undefined for a value that is not a text or could forge a line. */
function oneLine(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 4 * maxWhen) return undefined
  const line = value.trim().replaceAll(/\s+/g, ' ')
  const forges = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u.test(line)
  return line === '' || line.length > maxWhen || forges ? undefined : line
}

function split(text: string, file: string): { readonly yaml: string; readonly body: string } {
  const start = /^\uFEFF?---[ \t]*\r?\n/.exec(text)
  if (!start) {
    throw invalidSkill(
      `${file}:1`,
      'it does not begin with a --- line',
      'Begin it with ---, name, description and ---.',
    )
  }
  const rest = text.slice(start[0].length)
  const end = /^---[ \t]*\r?$/m.exec(rest.slice(0, maxFrontMatter))
  if (!end) {
    throw invalidSkill(
      `${file}:1`,
      `no --- line ends its front matter within ${maxFrontMatter} characters`,
      'Write one.',
    )
  }
  return { yaml: rest.slice(0, end.index), body: rest.slice(end.index + end[0].length) }
}

async function fieldsOf(yaml: string, file: string): Promise<Record<string, unknown>> {
  const { parseDocument } = await import('yaml')
  const document = parseDocument(yaml, { prettyErrors: true })
  const [error] = document.errors
  if (error) {
    // The first line of the front matter is the second of the file.
    const line = (error.linePos?.[0].line ?? 0) + 1
    const [message = ''] = error.message.split(/ at line \d+|\n/, 1)
    throw invalidSkill(
      `${file}:${line}`,
      `its front matter is not YAML: ${message.replace(/[.:]$/, '')}`,
      'Mend it.',
      error,
    )
  }
  let fields: unknown
  try {
    fields = document.toJS({ maxAliasCount: maxAliases })
  } catch (cause) {
    throw invalidSkill(`${file}:2`, 'its front matter refers to itself too often', 'Write it without aliases.', cause)
  }
  if (isRecord(fields)) return fields
  throw invalidSkill(`${file}:2`, 'its front matter has no fields', 'Give it a name and a description.')
}

function quote(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value)?.slice(0, 100)
}

/** @param where the file, and the line where it is known. */
export function invalidSkill(where: string, what: string, hint: string, cause?: unknown): ProvostError {
  return new ProvostError('invalid-skill', `${where} is not a valid skill: ${what}.`, { hint, cause })
}
