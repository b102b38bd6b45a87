import { ProvostError } from '../values/error.ts'

/**
 * What keeps interpreted code inside. `thread`: the interpreter and a thread that may not read files, write, or start
 * processes, should the interpreter have a fault. `engine`: the interpreter alone suffices.
 */
export type ThreadIsolation = 'thread' | 'engine'

/**
 * Returns the flags for a thread of interpreted code: it may read only some folders. Node gets them for both kinds of
 * isolation.
 *
 * @param folders that the thread reads its own code from.
 * @throws ProvostError `no-thread-isolation` where the runtime cannot restrict a thread.
 *
 * @example
 * new Worker(file, { execArgv: threadFlags('thread', ['*'], 'codeMode') })
 */
export function threadFlags(isolation: ThreadIsolation, folders: readonly string[], owner: string): readonly string[] {
  // Only Node has `--permission` for threads; Bun ignores it.
  if (!('bun' in process.versions || 'deno' in process.versions)) {
    return ['--no-warnings', '--permission', ...folders.map((folder) => `--allow-fs-read=${folder}`)]
  }
  if (isolation === 'engine') return []
  throw new ProvostError(
    'no-thread-isolation',
    `This runtime cannot restrict the threads of ${owner}: only Node can.`,
    {
      hint: `Run it on Node, or give ${owner} the option isolation: 'engine', so that the interpreter is the only barrier.`,
    },
  )
}
