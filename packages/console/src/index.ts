import { existsSync, readdirSync } from 'node:fs'

/** Folder of the built page: `index.html` and `assets`. */
export const root: URL = new URL('../dist/page/', import.meta.url)

const folder = new URL('assets/', root)

/** Names of the files in `assets`, with a hash of their content in each name. Empty in a checkout that was not built. */
export const assets: readonly string[] = existsSync(folder) ? readdirSync(folder) : []
