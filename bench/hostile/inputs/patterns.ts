import type { FileCall } from '../doors/agent.ts'
import { filesDoor, shellDoor } from '../doors/agent.ts'
import type { HostileInput, Rows } from '../input.ts'
import { hostileInputs } from '../input.ts'
import { fill, many } from '../text.ts'

const text = { 'a.txt': fill(`${fill('a', 9_000)}!\n`, 900_000) }
const grep = (pattern: string, files: Readonly<Record<string, string>> = text): FileCall => ({
  tool: 'grep',
  input: { pattern },
  files,
})
const glob = (pattern: string): FileCall => ({
  tool: 'glob',
  input: { pattern },
  files: { [`${fill('a/', 40)}${fill('a', 200)}.txt`]: 'x', 'b.txt': 'x' },
})
const ran = ['completed', 'completed [*', 'failed *'] as const

const patterns: Rows<FileCall> = {
  'grep: all ways': [() => grep('^(a+)+$'), ...ran],
  'grep: alternatives': [() => grep('^(a|aa|a)*b'), ...ran],
  'grep: dots': [() => grep(`${fill('.*', 60)}b`), ...ran],
  'grep: looks back': [() => grep('(a+)\\1'), ...ran],
  'grep: counts': [() => grep('(((a{1,100}){1,100}){1,100}){1,100}'), ...ran],
  'grep: a class of all letters, often': [() => grep(fill('[\\p{L}\\p{N}]*', 20_000)), ...ran],
  'grep: a pattern of 200 KB': [() => grep(fill('a?', 200_000)), ...ran],
  'grep: alternatives, 20,000 of them': [() => grep(many(20_000, (n) => `word${n}`).join('|')), ...ran],
  'grep: groups in groups': [() => grep(`${fill('(', 20_000)}a${fill(')', 20_000)}`), ...ran],
  'grep: a pattern that is none': [() => grep('((('), 'completed [*'],
  'grep: every line matches': [() => grep('a*', { 'a.txt': fill('a\n', 900_000) }), ...ran],
  'grep: one line of 1 MB': [() => grep('(x+x+)+y', { 'a.txt': fill('x', 1_000_000) }), ...ran],
  'grep: ignores case of a long pattern': [
    () => ({ tool: 'grep', input: { pattern: fill('ſK', 5_000), ignoreCase: true }, files: text }),
    ...ran,
  ],
  'glob: stars': [() => glob(`${fill('*a', 400)}b`), ...ran],
  'glob: stars of folders': [() => glob(`${fill('**/', 300)}b`), ...ran],
  'glob: braces in braces': [() => glob(`${fill('{a,', 3_000)}b${fill('}', 3_000)}`), ...ran],
  'glob: braces that multiply': [() => glob(fill('{a,b}', 300)), ...ran],
  'glob: ranges': [() => glob('{1..100000000}'), ...ran],
  'glob: groups that repeat': [() => glob(`${fill('+(a|', 30)}a${fill(')', 30)}b`), ...ran],
  'glob: a pattern of 200 KB': [() => glob(fill('?', 200_000)), ...ran],
  'glob: classes': [() => glob(fill('[!a-z', 10_000)), ...ran],
  'read: far behind the end': [
    () => ({ tool: 'read', input: { path: 'a.txt', from: 1e15, offset: 1e15 }, files: text }),
    ...ran,
  ],
  'read: outside of the folder': [() => ({ tool: 'read', input: { path: '../../../../etc/passwd' } }), 'completed [*'],
  'read: a path of 200 KB': [() => ({ tool: 'read', input: { path: fill('a/', 200_000) } }), 'completed [*'],
  'edit: a text that is everywhere': [
    () => ({
      tool: 'edit',
      input: { path: 'a.txt', oldText: 'a', newText: 'b', edits: [{ oldText: 'a', newText: 'b' }] },
      files: text,
    }),
    ...ran,
  ],
  'edit: a text that is nearly there': [
    () => ({ tool: 'edit', input: { path: 'a.txt', oldText: `${fill('a', 5_000)}b`, newText: 'x' }, files: text }),
    ...ran,
  ],
  'write: 1 MB': [() => ({ tool: 'write', input: { path: 'b.txt', content: fill('x', 1_000_000) } }), ...ran],
  'bash: a line of 500 KB': [
    () => ({ tool: 'bash', input: { command: `: ${fill('x', 100_000)}`, timeoutMs: 2_000 } }),
    ...ran,
  ],
  'bash: output without end': [() => ({ tool: 'bash', input: { command: 'yes', timeoutMs: 700 } }), ...ran],
  'bash: a child that stays': [
    () => ({ tool: 'bash', input: { command: 'sleep 60 & disown; echo ok', timeoutMs: 700 } }),
    ...ran,
  ],
}

const shell = (command: string, files: Readonly<Record<string, string>> = {}): FileCall => ({
  tool: 'bash',
  input: { command, timeoutMs: 2_000 },
  files,
  justBash: true,
})
const shells: Rows<FileCall> = {
  'a loop': [() => shell('while true; do :; done'), ...ran],
  'a function that calls itself': [() => shell('f() { f; }; f'), ...ran],
  'functions that double': [() => shell('f() { f | f; }; f'), ...ran],
  'braces that multiply': [() => shell('echo {1..9}{1..9}{1..9}{1..9}{1..9}{1..9}{1..9}'), ...ran],
  'a range of a billion': [() => shell('echo {1..1000000000}'), ...ran],
  'a text that doubles': [() => shell('x=xxxxxxxxxxxxxxxx; while true; do x=$x$x; done'), ...ran],
  'a pattern that tries all ways': [() => shell("grep -E '^(a+)+$' a.txt", { 'a.txt': `${fill('a', 40)}!` }), ...ran],
  'a pattern in the shell': [() => shell(`[[ ${fill('a', 40)}! =~ ^(a+)+$ ]]`), ...ran],
  'a pattern of sed': [() => shell("sed -E 's/^(a+)+$/x/' a.txt", { 'a.txt': `${fill('a', 40)}!` }), ...ran],
  'a loop of awk': [() => shell("awk 'BEGIN { while (1) x = x + 1 }'"), ...ran],
  'a pattern of awk': [() => shell("awk '/^(a|a)+$/' a.txt", { 'a.txt': `${fill('a', 40)}!` }), ...ran],
  'a loop of jq': [() => shell("echo 1 | jq '[range(1e9)] | length'"), ...ran],
  'a sorted text of 1 MB': [
    () => shell('sort a.txt | uniq -c | sort -rn', { 'a.txt': fill('b\na\n', 900_000) }),
    ...ran,
  ],
  'a glob of stars': [() => shell(`ls ${fill('*a', 60)}b`, { [fill('a', 200)]: 'x' }), ...ran],
  'a replacement of stars': [() => shell(`x=${fill('a', 3_000)}; echo "\${x//${fill('*a', 40)}b/}"`), ...ran],
  'sums in sums': [() => shell(`echo $((${fill('(', 20_000)}1${fill(')', 20_000)}))`), ...ran],
  'commands in commands': [() => shell(`${fill('$(', 6_000)}echo${fill(')', 3_000)}`), ...ran],
  'a power of a power': [() => shell('echo $((9**9**9**9))'), ...ran],
  'a printed width of a billion': [() => shell("printf '%1000000000s' x"), ...ran],
  'a sequence of a billion': [() => shell('seq 1 1000000000 | tail -1'), ...ran],
}

/** Patterns and commands that a model writes. */
export const patternInputs: readonly HostileInput[] = [
  ...hostileInputs('pattern', filesDoor, patterns),
  ...hostileInputs('shell', shellDoor, shells),
]
