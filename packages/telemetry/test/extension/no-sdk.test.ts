import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { expect, test } from 'vitest'

const run = promisify(execFile)
/** Two runs of an agent with telemetry, in a process of its own: what is registered is registered for a process. */
const program = (before = '') => `${before}
  const { createAgent } = await import('@provost/agent')
  const { scriptedModel } = await import('@provost/testing')
  const { telemetry } = await import('@provost/telemetry')
  const model = scriptedModel([{ text: 'one' }, { text: 'two' }])
  const agent = createAgent({ name: 'desk', model, extensions: [telemetry()] })
  console.log((await agent.run('Hi.')).text, (await agent.run('Hi.')).text)`

async function warningsOf(before?: string): Promise<readonly string[]> {
  const flags = ['--conditions=@provost/source', '--input-type=module', '-e']
  const { stdout, stderr } = await run(process.execPath, [...flags, program(before)], { cwd: import.meta.dirname })
  expect(stdout).toBe('one two\n')
  return stderr.match(/ProvostTelemetry: .*/gu) ?? []
}

test('without a registered SDK, telemetry says so once', async () => {
  const warnings = await warningsOf()
  expect(warnings).toHaveLength(1)
  expect(warnings[0]).toContain('found no registered OpenTelemetry SDK')
})

test.runIf(process.env['PROVOST_TEST_FULL'] === '1')(
  'an SDK that was registered with another version of the API is named',
  async () => {
    const [warning] = await warningsOf(
      "globalThis[Symbol.for('opentelemetry.js.api.1')] = { version: '1.2.0', trace: { getTracer() {} } }",
    )
    expect(warning).toContain('@opentelemetry/api 1.2.0')
  },
)
