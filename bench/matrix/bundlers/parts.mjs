/** What is built and run everywhere: one turn after another on each store, and a script. Each prints one line. */

const stores = {
  memory: { from: 'provost', open: 'const store = memoryStore()\nconst open = () => store', name: 'memoryStore' },
  SQLite: {
    from: 'provost/sqlite',
    open: 'const open = () => sqliteStore(process.env.STORE)',
    name: 'sqliteStore',
  },
  PostgreSQL: {
    from: 'provost/postgres',
    open: 'const open = () => postgresStore(process.env.DATABASE_URL)',
    name: 'postgresStore',
  },
}

const programs = Object.entries(stores).map(([part, { from, name, open }]) => {
  const imports = `import { ${name} } from '${from}'\nimport { twoTurns } from './two-turns.mjs'\n`
  return [part, { imports, body: `${open}\nconst answer = await twoTurns(open)`, prints: 'two turns' }]
})

const script = `const isNode = !('bun' in process.versions || 'deno' in process.versions)
const sandbox = createSandbox({ isolation: isNode ? 'thread' : 'engine', workers: 1 })
const code = 'const n: number = await tools.add({ a: 1, b: 2 }); return n + 4'
const { value, error } = await sandbox.run(code, { tools: { add: ({ a, b }) => a + b } })
await sandbox.close()
const answer = \`script \${value ?? error?.message}\``

/** By name: the text of the program, and its one line of output. */
export const parts = Object.fromEntries([
  ...programs,
  ['code mode', { imports: `import { createSandbox } from 'provost/code-mode'\n`, body: script, prints: 'script 7' }],
])

/** The name of a part in paths. */
export const fileName = (part) => part.toLowerCase().replace(' ', '-')

export const programOf = ({ imports, body }) =>
  `import process from 'node:process'\n${imports}${body}\nconsole.log(answer)\n`
