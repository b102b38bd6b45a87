/** A package manager. */
export type Manager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** How a package manager adds a package, and runs the program of an installed one. */
const commands: Readonly<Record<Manager, { readonly add: string; readonly execute: string }>> = {
  npm: { add: 'npm install', execute: 'npx' },
  pnpm: { add: 'pnpm add', execute: 'pnpm exec' },
  yarn: { add: 'yarn add', execute: 'yarn' },
  bun: { add: 'bun add', execute: 'bunx' },
}

/** A file with settings, and its text. */
interface Settings {
  readonly file: string
  readonly text: string
}

/** What a package manager needs to be told in a project. */
export const settings: Readonly<Partial<Record<Manager, Settings>>> = {
  // It ends with an error where an install script is neither allowed nor denied.
  pnpm: {
    file: 'pnpm-workspace.yaml',
    text: '# Nothing needs the install scripts of these packages.\nallowBuilds:\n  esbuild: false\n  sharp: false\n',
  },
  // TypeScript 7 finds no packages in its archives. Yarn 1 does not read this file.
  yarn: { file: '.yarnrc.yml', text: 'nodeLinker: node-modules\n' },
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

/** Returns a text whose commands are those of another package manager instead of npm. Comments after them stay in their column. */
export function commandsIn(text: string, manager: Manager): string {
  if (manager === 'npm') return text
  return text
    .split('\n')
    .map((line) => {
      const { command = line, comment } = /^(?<command>.*?\S +)(?<comment>(?<=  )# .*)$/.exec(line)?.groups ?? {}
      const own = translated(command, manager)
      return comment === undefined ? own : `${own.trimEnd().padEnd(command.length - 1)} ${translated(comment, manager)}`
    })
    .join('\n')
}

function translated(command: string, manager: Exclude<Manager, 'npm'>): string {
  const { add, execute } = commands[manager]
  return (
    command
      .replaceAll(/\bnpm install(?= [-\w@{])/g, add)
      .replaceAll(/\bnpm install\b/g, `${manager} install`)
      // Only npm needs `--` before the arguments of a script.
      .replaceAll(/\bnpm (?:run )?(\w+)(?: --(?= ))?/g, (_, script: string) => scriptCommand(manager, script))
      .replaceAll(/\bnpx\b/g, execute)
  )
}
