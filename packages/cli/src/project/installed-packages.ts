import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { isRecord } from '@provost/core'

/** Returns the version of a package as the application in a folder finds it; undefined if it is not installed. */
export function versionOf(name: string, folder: string): string | undefined {
  const manifest = foldersAbove(folder)
    .map((one) => join(one, 'node_modules', name, 'package.json'))
    .find((file) => existsSync(file))
  if (manifest === undefined) return undefined
  try {
    const parsed: unknown = JSON.parse(readFileSync(manifest, 'utf8'))
    return isRecord(parsed) && typeof parsed['version'] === 'string' ? parsed['version'] : '?'
  } catch {
    return '?'
  }
}

/** Returns the packages of a scope that the application in a folder finds, such as `@ai-sdk`. */
export function packagesIn(scope: string, folder: string): readonly string[] {
  const names = foldersAbove(folder).flatMap((one) => {
    const place = join(one, 'node_modules', scope)
    return existsSync(place) ? readdirSync(place) : []
  })
  return [...new Set(names)].toSorted()
}

function foldersAbove(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersAbove(above)]
}
