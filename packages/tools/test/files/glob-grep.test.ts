import { nodeRuntime, globTool, grepTool } from '@provost/tools'
import { describe, expect, test } from 'vitest'

import { call } from '../executor/call.ts'
import { folder } from './folder.ts'

type Files = Readonly<Record<string, string>>

type Input = Readonly<Record<string, string | boolean>>

async function globbed(files: Files, input: Input): Promise<unknown> {
  return globbedIn(await folder(files), input)
}

async function globbedIn(cwd: string, input: Input): Promise<unknown> {
  const runtime = nodeRuntime({ cwd })
  const { value, error } = await call(globTool, { pattern: '**', ...input }, { runtime })
  return error ?? (value as { paths: string[] }).paths
}

async function grepped(files: Files, input: Input): Promise<unknown> {
  const runtime = nodeRuntime({ cwd: await folder(files) })
  const { value, error } = await call(grepTool, { pattern: 'x', ...input }, { runtime })
  return error ?? (value as { matches: { path: string }[] }).matches.map(({ path }) => path)
}

describe('glob and grep skip ignored files', () => {
  test('in the folder of the ignore file and below, the deepest rule last', async () => {
    const files = {
      '.gitignore': '*.log\n/only-here\nout/\n!keep.log\n# comment\n',
      'a.log': '',
      'a.ts': '',
      'keep.log': '',
      'only-here': '',
      'out/x.ts': '',
      'sub/.gitignore': '*.ts\n!a.log\n',
      'sub/a.log': '',
      'sub/b.log': '',
      'sub/c.ts': '',
      'sub/only-here': '',
      'sub/out/y.md': '',
    }
    expect(await globbed(files, {})).toEqual(['a.ts', 'keep.log', 'sub/a.log', 'sub/only-here'])
    expect(await globbed(files, { ignored: true, path: 'sub' })).toEqual([
      'sub/a.log',
      'sub/b.log',
      'sub/c.ts',
      'sub/only-here',
      'sub/out/y.md',
    ])
  })

  test('by rules of folders above the start of the search', async () => {
    const files = { '.ignore': '*.log', 'a/.gitignore': '*.tmp', 'a/b/c.log': '', 'a/b/c.tmp': '', 'a/b/c.ts': '' }
    expect(await globbed(files, { path: 'a/b' })).toEqual(['a/b/c.ts'])
  })

  test('but search a folder that is named, and one that a deeper file includes again', async () => {
    const files = { '.gitignore': 'build/\n', 'build/a.js': 'x', 'sub/.gitignore': '!build/\n', 'sub/build/b.js': 'x' }
    expect(await grepped(files, { path: 'build' })).toEqual(['build/a.js'])
    expect(await grepped(files, {})).toEqual(['sub/build/b.js'])
  })

  test('and hidden files and node_modules, unless they are requested', async () => {
    const files = { '.env': 'x', '.github/ci.yml': 'x', 'node_modules/m/i.js': 'x', 'a.ts': 'x', '.git/config': 'x' }
    expect(await grepped(files, {})).toEqual(['a.ts'])
    expect(await grepped(files, { hidden: true })).toEqual(['.env', '.github/ci.yml', 'a.ts'])
    expect(await grepped(files, { glob: '.env' })).toEqual(['.env'])
    expect(await grepped(files, { ignored: true })).toEqual(['a.ts', 'node_modules/m/i.js'])
    expect(await globbed(files, { pattern: '.github/**' })).toEqual(['.github/ci.yml'])
    expect(await globbed(files, { pattern: '**/*' })).toEqual(['a.ts'])
    expect(await globbed(files, { pattern: '**/*', hidden: true })).toEqual(['.env', '.github/ci.yml', 'a.ts'])
  })

  test('and reject an ignore file of unbounded cost with a hint', async () => {
    const rules = Array.from({ length: 30_000 }, (_, n) => `*${n}x`)
    const names = Array.from({ length: 300 }, (_, n) => [`${n}.txt`, ''])
    const files = { '.gitignore': rules.join('\n'), ...Object.fromEntries(names) }
    const cwd = await folder(files)
    expect(await globbedIn(cwd, {})).toMatchObject({ code: 'pattern-too-slow', hint: expect.stringMatching(/ignored/) })
    expect(await globbedIn(cwd, { ignored: true })).toHaveLength(300)
  })
})

test('grep is case-sensitive unless the input says otherwise or the pattern has no capital', async () => {
  const files = { 'lower.txt': 'hello', 'upper.txt': 'HELLO' }
  expect(await grepped(files, { pattern: 'hello' })).toEqual(['lower.txt'])
  expect(await grepped(files, { pattern: 'Hello', ignoreCase: true })).toEqual(['lower.txt', 'upper.txt'])
  expect(await grepped(files, { pattern: 'hello', smartCase: true })).toEqual(['lower.txt', 'upper.txt'])
  expect(await grepped(files, { pattern: String.raw`\Sello`, smartCase: true })).toEqual(['lower.txt', 'upper.txt'])
  expect(await grepped(files, { pattern: 'HELL', smartCase: true })).toEqual(['upper.txt'])
})
