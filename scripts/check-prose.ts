/**
 * node scripts/check-prose.ts [FOLDER…] [--all]
 *
 * Checks that comments, messages, tests and documents name the component that acts, as CONTRIBUTING asks. Prints each
 * use of a word that hides it. `--all` also prints sentences of comments that have more than 25 words, which is no
 * failure.
 */
import { globSync, readFileSync } from 'node:fs'
import process from 'node:process'

/** Words that hide which component acts: the caller, the model, a writer, a listener, a process, a store. */
const pronouns = /\b(?:who(?:m)?ever|whom|(?:no|some|any|every)body)\b/i
/** Files and folders in which these words are data. */
const data = [
  'bench/memory/synthetic.ts', // questions to a memory
  'bench/security/own/', // requests of users, and attacks
  'packages/governance/src/wording/lexicon.ts', // words that users write
  'packages/memory/src/items/search-terms.ts', // stop words
]
/** Texts of users in tests. */
const quotes = [
  /Is anybody there\?|\/anybody\//g,
  /Mail whom the board in the hall names\./g,
  /Nobody is called \$\{query\}\./g,
  /(?:Pay|Write a message to) whoever wrote most\./g,
]
/** A name that belongs to nothing: of an agent, a session, an account. */
const names = /(?<=['/])(?:no|some)body(?=['/@])/g
const mostWords = 25

const folders = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const all = process.argv.includes('--all')
const roots = folders.length > 0 ? folders : ['packages', 'apps', 'examples', 'docs', 'bench', 'scripts', '.changeset']
const patterns = roots.map((root) => `${root}/**/*.{ts,tsx,mjs,md,html}`)
const exclude = ['**/node_modules', '**/dist', 'packages/*/CHANGELOG.md', 'docs/site/pages', 'scripts/check-prose.ts']
const files = globSync([...patterns, ...(folders.length > 0 ? [] : ['*.{ts,md}'])], { exclude })

let found = 0
for (const file of new Set(files)) {
  if (data.some((path) => file.startsWith(path))) continue
  const lines = readFileSync(file, 'utf8').split('\n')
  for (const [index, line] of lines.entries()) {
    if (!pronouns.test(line)) continue
    const own = quotes.reduce((rest, quote) => rest.replaceAll(quote, ''), line.replaceAll(names, ''))
    if (!pronouns.test(own)) continue
    found++
    console.error(`${file}:${index + 1}: ${line.trim().slice(0, 160)}`)
  }
  if (all && file.endsWith('.ts')) for (const sentence of longSentences(lines)) console.log(`${file}: ${sentence}`)
}
if (found > 0) console.error(`${found} lines have a word that hides which component acts. Name the component instead.`)
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
