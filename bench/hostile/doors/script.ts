import { createSandbox } from 'provost/code-mode'

import type { Door } from '../input.ts'
import { salla } from '../text.ts'

/** What scripts can call. */
const tools = {
  echo: (value: unknown) => value ?? null,
  big: () => 'x'.repeat(1_000_000),
  wide: () => Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, n])),
  odd: () => ({ __proto__: { polluted: true }, text: salla.repeat(10_000) }),
  fail: () => {
    throw new Error('no such order')
  },
}

const sandbox = createSandbox({ workers: 1, limits: { cpuMs: 1_000, wallMs: 3_000 } })

/** A script of a sandbox: `ok`, or the code of its error. */
export const scriptDoor: Door<string> = {
  name: 'createSandbox().run',
  benign: 'return await tools.echo(1)',
  async pass(source) {
    const result = await sandbox.run(source, { tools })
    return result.ok ? 'ok' : result.error.code
  },
}

/** Ends the threads of the door. */
export function closeScripts(): Promise<void> {
  return sandbox.close()
}
