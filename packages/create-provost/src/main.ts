#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { unsupportedNode } from '@provost/core/supported-node'

import { help } from './help.ts'

const argv = process.argv.slice(2)
const unsupported = unsupportedNode()
if (unsupported) {
  process.stderr.write(`${unsupported.message} ${unsupported.hint ?? ''}\n`)
  process.exitCode = 1
} else if (argv.includes('--help')) process.stdout.write(help)
else if (argv.includes('--version')) process.stdout.write(`${version()}\n`)
else await command()

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : ''
}

/** Loaded only here, so that `--help` answers at once. */
async function command(): Promise<void> {
  const { runCommand } = await import('./command.ts')
  process.exitCode = await runCommand(argv)
}
