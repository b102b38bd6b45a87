import { lazily, lookalikes } from '@provost/core'

/** Latin letters and digits that look alike, and pairs that look like one letter. */
const ascii: readonly (readonly [RegExp, string])[] = [
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/cl/g, 'd'],
  [/[1|!i]/g, 'l'],
  [/0/g, 'o'],
  [/5/g, 's'],
]

/** Returns a form that is the same for all texts that look alike. */
export function skeletonOf(text: string): string {
  let form = ''
  // Accents and other marks are easily overlooked.
  for (const character of text.normalize('NFKD').replaceAll(/[\p{M}\p{Default_Ignorable_Code_Point}]/gu, '')) {
    form += lookalikes.get(character) ?? character.toLowerCase()
  }
  for (const [pattern, letter] of ascii) form = form.replace(pattern, letter)
  return form
}

const scripts = lazily(() =>
  [
    'Latin',
    'Cyrillic',
    'Greek',
    'Armenian',
    'Hebrew',
    'Arabic',
    'Cherokee',
    'Coptic',
    'Devanagari',
    'Thai',
    'Georgian',
    'Han',
    'Hiragana',
    'Katakana',
    'Hangul',
    'Bopomofo',
    'Lisu',
  ].map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const),
)

/** Scripts that one word may mix, as in Japanese, Korean and Chinese. */
const together: readonly ReadonlySet<string>[] = [
  new Set(['Latin', 'Han', 'Hiragana', 'Katakana']),
  new Set(['Latin', 'Han', 'Hangul']),
  new Set(['Latin', 'Han', 'Bopomofo']),
]

/** Returns the scripts that one word mixes and that do not belong together; undefined for any other word. */
export function mixedScripts(word: string): readonly string[] | undefined {
  const used = scripts().flatMap(([name, letters]) => (letters.test(word) ? [name] : []))
  if (used.length < 2 || together.some((set) => used.every((name) => set.has(name)))) return undefined
  return used
}
