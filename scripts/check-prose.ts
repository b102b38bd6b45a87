/**
 * node scripts/check-prose.ts [FOLDER…] [--all]
 *
 * Checks that comments, messages and documents name the component that acts, as CONTRIBUTING asks. Prints each use of a
 * word that hides it. `--all` also prints sentences of comments that have more than 25 words, which is no failure.
 */
import { globSync, readFileSync } from 'node:fs'
import process from 'node:process'

/** Words that hide who acts: the caller, the model, a writer, a listener, a process, a store. */
const pronouns = /\b(?:whoever|nobody|somebody|whom)\b/i
/** Files where one of the words is data: a phrase that an attack uses, a stop word. */
const data: ReadonlySet<string> = new Set([
  'packages/testing/src/process/postgres-server.ts',
  'packages/memory/src/items/search-terms.ts',
])
const mostWords = 25

const folders = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const all = process.argv.includes('--all')
const roots = folders.length > 0 ? folders : ['packages/*', 'apps/*', 'examples', 'docs', 'bench', 'scripts', '.']
const files = roots
  .flatMap((root) => globSync(root === '.' ? '*.md' : `${root}/**/*.{ts,tsx,md}`))
  .filter((file) => !/node_modules|\/dist\/|CHANGELOG|check-prose|docs\/decisions/.test(file) && !data.has(file))

let found = 0
for (const file of new Set(files)) {
  const lines = readFileSync(file, 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    if (!pronouns.test(line)) continue
    found++
    console.error(`${file}:${index + 1}: ${line.trim().slice(0, 160)}`)
  }
  if (all && file.endsWith('.ts')) for (const sentence of longSentences(lines)) console.log(`${file}: ${sentence}`)
}
if (found > 0) console.error(`${found} lines have a word that hides who acts. Name the component instead.`)
process.exitCode = found > 0 ? 1 : 0

function longSentences(lines: readonly string[]): readonly string[] {
  const comments = lines
    .map((line) => /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)\s?(.*?)(?:\*\/)?$/.exec(line)?.[1] ?? '\n')
    .join(' ')
    .split('\n')
  return comments
    .flatMap((text) => text.replaceAll(/\s+/g, ' ').split(/(?<=[.:;!?])\s/))
    .filter((sentence) => !sentence.includes('@') && sentence.split(' ').length > mostWords)
}
