/** A package manager. */
export type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** How a package manager adds a package, and runs the program of an installed one. */
const commands: Readonly<Record<Manager, { readonly add: string; readonly execute: string }>> = {
  npm: { add: 'npm install', execute: 'npx' },
  pnpm: { add: 'pnpm add', execute: 'pnpm exec' },
  yarn: { add: 'yarn add', execute: 'yarn' },
  bun: { add: 'bun add', execute: 'bunx' },
}

/** The package manager that started this program, which names itself in `npm_config_user_agent`. Default `npm`. */
export function managerOf(env: NodeJS.ProcessEnv): Manager {
  const [name = ''] = (env['npm_config_user_agent'] ?? '').split('/')
  return isManager(name) ? name : 'npm'
}

function isManager(name: string): name is Manager {
  return Object.hasOwn(commands, name)
}

/** Returns the command that runs a script of a package.json. */
export function scriptCommand(manager: Manager, script: string): string {
  const isShort = script === 'start' || script === 'test'
  // `bun test` is a test runner of its own.
  if (manager === 'bun' || (manager === 'npm' && !isShort)) return `${manager} run ${script}`
  return `${manager} ${script}`
}

/** Returns a text whose commands are those of another package manager instead of npm. */
export function commandsIn(text: string, manager: Manager): string {
  if (manager === 'npm') return text
  const { add, execute } = commands[manager]
  return (
    text
      .replaceAll(/\bnpm install(?= [-\w@{])/g, add)
      .replaceAll(/\bnpm install\b/g, `${manager} install`)
      // Only npm needs `--` before the arguments of a script.
      .replaceAll(/\bnpm (?:run )?(\w+)(?: --(?= ))?/g, (_, script: string) => scriptCommand(manager, script))
      .replaceAll(/\bnpx\b/g, execute)
  )
}
