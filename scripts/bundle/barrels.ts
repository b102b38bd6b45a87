import { readFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'

import type { Plugin } from 'rolldown'
import { parseSync } from 'rolldown/utils'

import { sourceOf } from './workspace.ts'

type Program = ReturnType<typeof parseSync>['program']
type Statement = Program['body'][number]

/** A value: the file or package that declares it, and its name there. */
interface Place {
  readonly from: string
  readonly name: string
}

const programs = new Map<string, Program>()

function programOf(file: string): Program {
  const known = programs.get(file)
  if (known) return known
  const { program } = parseSync(file, readFileSync(file, 'utf8'))
  programs.set(file, program)
  return program
}

function fileOf(specifier: string, importer: string): string {
  if (specifier.startsWith('@provost/')) return sourceOf(specifier)
  return specifier.startsWith('.') ? join(dirname(importer), specifier) : specifier
}

/** The text of a name in an import or export, which may be a string. */
function textOf(name: { readonly name: string } | { readonly value: string }): string {
  return 'name' in name ? name.name : name.value
}

function declares(statement: Statement, name: string): boolean {
  if (statement.type !== 'ExportNamedDeclaration' || statement.source) return false
  const { declaration, specifiers } = statement
  if (specifiers.some(({ exported }) => textOf(exported) === name)) return true
  if (!declaration) return false
  if (declaration.type === 'VariableDeclaration')
    return declaration.declarations.some(({ id }) => id.type === 'Identifier' && id.name === name)
  return 'id' in declaration && declaration.id?.type === 'Identifier' && declaration.id.name === name
}

/** Follows the re-exports of a file to the place of a value. */
function placeIn(file: string, name: string): Place | undefined {
  if (!isAbsolute(file)) return { from: file, name }
  const { body } = programOf(file)
  if (body.some((statement) => declares(statement, name))) return { from: file, name }
  for (const statement of body) {
    if (statement.type === 'ExportNamedDeclaration' && statement.source && statement.exportKind === 'value') {
      const found = statement.specifiers.find(({ exported }) => textOf(exported) === name)
      if (found) return placeIn(fileOf(statement.source.value, file), textOf(found.local))
    }
    if (statement.type === 'ExportAllDeclaration' && statement.exportKind === 'value' && !statement.exported) {
      const found = placeIn(fileOf(statement.source.value, file), name)
      if (found && isAbsolute(found.from)) return found
    }
  }
  return undefined
}

function direct(keyword: 'import' | 'export', names: readonly (Place & { readonly as: string })[]): string {
  return names
    .map(({ from, name, as }) => `${keyword} { ${name}${name === as ? '' : ` as ${as}`} } from ${JSON.stringify(from)}`)
    .join('; ')
}

function place(specifier: string, name: string, importer: string): Place {
  const found = placeIn(sourceOf(specifier), name)
  if (!found) throw new Error(`${importer} imports ${name}, which ${specifier} does not export.`)
  return found
}

/** Returns what replaces a statement that imports or exports values through the barrel of a package. */
function replacement(statement: Statement, importer: string): string | undefined {
  if (statement.type === 'ImportDeclaration') {
    const { source, importKind, specifiers } = statement
    if (importKind === 'type' || !source.value.startsWith('@provost/')) return undefined
    const names = specifiers.flatMap((specifier) =>
      specifier.type === 'ImportSpecifier' && specifier.importKind !== 'type'
        ? [{ ...place(source.value, textOf(specifier.imported), importer), as: specifier.local.name }]
        : [],
    )
    return specifiers.every(({ type }) => type === 'ImportSpecifier') ? direct('import', names) : undefined
  }
  if (statement.type !== 'ExportNamedDeclaration') return undefined
  const { source, exportKind, specifiers } = statement
  if (exportKind === 'type' || !source?.value.startsWith('@provost/')) return undefined
  const names = specifiers
    .filter((specifier) => specifier.exportKind !== 'type')
    .map(({ local, exported }) => ({ ...place(source.value, textOf(local), importer), as: textOf(exported) }))
  return direct('export', names)
}

/**
 * Imports each value from the file that declares it, where the source names a package. A bundler divides code by the
 * files that an entry reaches, and through the barrel of a package it reaches all of them.
 */
export function throughBarrels(): Plugin {
  return {
    name: 'through-barrels',
    transform: {
      filter: { id: /\/packages\/[\w-]+\/src\/.*\.ts$/u, code: '@provost/' },
      handler(code, id) {
        let text = code
        for (const statement of parseSync(id, code).program.body.toReversed()) {
          const made = replacement(statement, id)
          if (made !== undefined) text = text.slice(0, statement.start) + made + text.slice(statement.end)
        }
        return { code: text, map: null }
      },
    },
  }
}
