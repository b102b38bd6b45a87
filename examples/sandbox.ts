// An untrusted script, run alone: without an agent or a model.
import { createSandbox } from 'provost/code-mode'

const sandbox = createSandbox({ limits: { cpuMs: 1000 }, workers: 2 })
const result = await sandbox.run(
  `const rows: { total: number }[] = await Promise.all([1, 2, 3].map((id) => tools.order({ id })))
   return rows.reduce((sum, row) => sum + row.total, 0)`,
  { tools: { order: ({ id }) => ({ id, total: id * 10 }) } },
)
console.log(result.ok ? result.value : result.error.message) // → 60
await sandbox.close()
