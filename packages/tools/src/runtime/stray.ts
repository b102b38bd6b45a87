import { readdir, readFile } from 'node:fs/promises'

/** The variable by which the processes of a command are known again. */
export const markName = 'PROVOST_COMMAND'

const maxRounds = 5

/**
 * Ends every process that carries the marker of a command, also one that left the process group. A process without the
 * variable is not found, nor is any on systems without `/proc`.
 *
 * @param from the lowest process id to look at.
 */
export async function killStrays(mark: string, from: number): Promise<void> {
  // Processes may start others during the search.
  for (let round = 0; round < maxRounds; round++) {
    const strays = await marked(`${markName}=${mark}`, from)
    if (strays.length === 0) return
    for (const pid of strays) kill(pid)
  }
}

async function marked(entry: string, from: number): Promise<readonly number[]> {
  const names = await readdir('/proc').catch(() => [])
  const found = await Promise.all(
    names.map(async (name) => {
      const pid = Number(name)
      if (!(pid >= from) || pid === process.pid) return undefined
      // Processes of other users cannot be read, and ended ones have no environment.
      const environment = await readFile(`/proc/${name}/environ`).catch(() => undefined)
      return environment?.includes(entry) ? pid : undefined
    }),
  )
  return found.filter((pid) => pid !== undefined)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
