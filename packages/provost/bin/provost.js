#!/usr/bin/env node
// Imported here, so that an old Node prints why it cannot load the rest.
const unsupported = await import('#supported-node').then(
  () => undefined,
  (error) => error,
)
if (unsupported) {
  process.stderr.write(`${unsupported.code}: ${unsupported.message}\n  ${unsupported.hint}\n`)
  process.exitCode = 1
} else {
  const { main } = await import('#cli')
  await main(process.argv.slice(2))
}
