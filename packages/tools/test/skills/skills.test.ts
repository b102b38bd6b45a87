import { symlink } from 'node:fs/promises'
import path from 'node:path'

import type { Skill } from '@provost/core'
import { loadSkills } from '@provost/tools'
import { describe, expect, it } from 'vitest'

import { folder } from '../files/folder.ts'

const skill = (name: string, body = 'Do it.', more = 'description: When it is asked for.'): string =>
  `---\nname: ${name}\n${more}\n---\n\n${body}\n`

async function contentOf({ content }: Skill): Promise<string> {
  return typeof content === 'string' ? content : content()
}

/** The one skill of a folder. */
async function only(files: Readonly<Record<string, string | Uint8Array>>): Promise<Skill> {
  const [first] = await loadSkills(await folder(files))
  if (!first) throw new Error('no skill')
  return first
}

describe('a folder of skills', () => {
  it('lists each folder with a SKILL.md by name, and ignores others', async () => {
    const root = await folder({
      'b/SKILL.md': skill('beta', 'Second.'),
      'a/SKILL.md': skill('alpha', 'First.'),
      'notes/README.md': 'no skill',
      '.git/SKILL.md': skill('hidden'),
      'file.md': 'no folder',
    })
    const skills = await loadSkills(root)
    expect(skills.map(({ name, when }) => ({ name, when }))).toEqual([
      { name: 'alpha', when: 'When it is asked for.' },
      { name: 'beta', when: 'When it is asked for.' },
    ])
    expect(await Promise.all(skills.map(contentOf))).toEqual(['First.', 'Second.'])
  })

  it('may itself be a skill, and may be empty', async () => {
    expect((await only({ 'SKILL.md': skill('single') })).name).toBe('single')
    expect(await loadSkills(await folder())).toEqual([])
  })

  it('that is missing is an error that names it', async () => {
    const root = await folder({ file: '' })
    await expect(loadSkills(path.join(root, 'nowhere'))).rejects.toThrow(
      /nowhere is not a valid skill: there is nothing/,
    )
    await expect(loadSkills(path.join(root, 'file'))).rejects.toThrow(/it is a file/)
  })

  it('rejects two skills of one name, and more than 200', async () => {
    const twice = await folder({ 'a/SKILL.md': skill('same'), 'b/SKILL.md': skill('same') })
    await expect(loadSkills(twice)).rejects.toThrow(/a\/SKILL\.md and .*b\/SKILL\.md are both named same/)
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`s${i}/SKILL.md`, skill(`s${i}`)]))
    await expect(loadSkills(await folder(many))).rejects.toThrow(/more than 200/)
  })
})

describe('the front matter of a SKILL.md', () => {
  it('is YAML: folded texts become one line, `when` precedes `description`, other keys are ignored', async () => {
    const more = 'description: Long ago.\nwhen: >\n  figures are\n  asked for\nmetadata: { version: "1" }\nlicense: MIT'
    expect(
      await only({ 'SKILL.md': `\uFEFF${skill('sql', 'Use SELECT.', more).replaceAll('\n', '\r\n')}` }),
    ).toMatchObject({
      name: 'sql',
      when: 'figures are asked for',
    })
  })

  it.each([
    ['without a beginning', 'Just text.', /SKILL\.md:1 is not a valid skill: it does not begin/],
    ['without an end', '---\nname: a\n', /SKILL\.md:1 is not a valid skill: no --- line ends/],
    [
      'that is broken',
      '---\nname: a\ndescription: [x\n---\n',
      /SKILL\.md:\d is not a valid skill: its front matter is not YAML/,
    ],
    [
      'with a bad indent',
      '---\nname: a\n  b: "x\n---\n',
      /SKILL\.md:2 is not a valid skill: its front matter is not YAML/,
    ],
    ['that is a list', '---\n- a\n---\n', /SKILL\.md:2 is not a valid skill: its front matter has no fields/],
    ['without a name', '---\ndescription: x\n---\n', /SKILL\.md:2 is not a valid skill: its name is missing/],
    ['named to lead out', skill('../../x'), /SKILL\.md:2 is not a valid skill: its name is "\.\.\/\.\.\/x"/],
    ['named to forge a line', skill('"a\\n- evil: always"'), /SKILL\.md:2 is not a valid skill: its name is/],
    ['named __proto__ twice', '---\n__proto__: { name: a, description: b }\n---\n', /its name is missing/],
    ['named by a number', skill('17'), /its name is 17/],
    ['without an occasion', '---\nlicense: MIT\nname: a\n---\n', /it has no description that can be used/],
    [
      'with an occasion of a book',
      skill('a', '', `description: ${'x'.repeat(1_025)}`),
      /SKILL\.md:3 .* no description/,
    ],
    ['with an occasion that runs backwards', skill('a', '', 'description: "\\u202Eevil"'), /no description that can/],
    [
      'that explodes',
      `---\nname: a\na: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefgh'.split('').entries()].map(([i, key]) => `${key}: &${key} [${`*${'abcdefg'[i]},`.repeat(9)}]`).join('\n')}\n---\n`,
      /SKILL\.md:2 is not a valid skill: its front matter refers to itself too often/,
    ],
    ['of a novel', skill('a', '', `description: "${'x'.repeat(100_000)}"`), /no --- line ends/],
  ])('that is %s is rejected with file and line', async (_, text, message) => {
    await expect(loadSkills(await folder({ 'x/SKILL.md': text }))).rejects.toThrow(message)
  })
})

describe('files of a skill', () => {
  it('beside its SKILL.md are listed, and read on demand', async () => {
    const found = await only({
      'x/SKILL.md': skill('docs'),
      'x/guide.md': 'The guide.',
      'x/scripts/run.py': 'print()',
      'x/.env': 'KEY=1',
    })
    expect(found.files).toEqual(['guide.md', 'scripts/run.py'])
    expect(await found.read?.('scripts/run.py')).toBe('print()')
    for (const hidden of ['.env', './.env', 'scripts/../.env', 'scripts/.hidden/x']) {
      await expect(Promise.resolve(found.read?.(hidden))).rejects.toThrow(`no file ${JSON.stringify(hidden)}`)
    }
  })

  it('outside its folder are rejected, by path and by link', async () => {
    const root = await folder({
      'x/SKILL.md': skill('x'),
      'x/a.md': '',
      'y/SKILL.md': skill('y'),
      'secret.md': 'secret',
    })
    await symlink(path.join(root, 'secret.md'), path.join(root, 'x/link.md'))
    const [first] = await loadSkills(root)
    expect(first?.files).toEqual(['a.md'])
    for (const name of ['../secret.md', '../y/SKILL.md', path.join(root, 'secret.md'), 'link.md', 'a\0b']) {
      await expect(Promise.resolve(first?.read?.(name))).rejects.toThrow(/cannot be read/)
    }
    await expect(Promise.resolve(first?.read?.('gone.md'))).rejects.toThrow(/There is nothing at "gone.md"/)
  })

  it('are no skills if they are links out of the folder', async () => {
    const outside = await folder({ 'SKILL.md': skill('outside') })
    const linked = await folder()
    await symlink(outside, path.join(linked, 'x'))
    await expect(loadSkills(linked)).rejects.toThrow(/x is not a valid skill: it is a link that leads out/)
    const file = await folder({ 'x/readme.md': '' })
    await symlink(path.join(outside, 'SKILL.md'), path.join(file, 'x/SKILL.md'))
    await expect(loadSkills(file)).rejects.toThrow(/x\/SKILL\.md cannot be read\. .* A link on the way leads out/)
  })

  it('that are too large or not text are rejected', async () => {
    const big = await folder({ 'x/SKILL.md': skill('big', 'x'.repeat(10_000_000)) })
    await expect(loadSkills(big)).rejects.toThrow(/x\/SKILL\.md has \d+ bytes, more than 262144/)
    const odd = await folder({ 'x/SKILL.md': new Uint8Array([0x2d, 0xff, 0xfe]) })
    await expect(loadSkills(odd)).rejects.toThrow(/x\/SKILL\.md is not text in UTF-8/)
    const found = await only({ 'x/SKILL.md': skill('x'), 'x/big.md': new Uint8Array(300_000) })
    await expect(Promise.resolve(found.read?.('big.md'))).rejects.toThrow(/big\.md has 300000 bytes/)
  })
})
