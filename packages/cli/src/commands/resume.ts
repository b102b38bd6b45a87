import type { Invocation } from '../command/command.ts'
import { openStore } from '../project/open-store.ts'
import { resumeSession } from '../session/resume-session.ts'

/** `provost resume SESSION FILE` */
export async function resume(given: Invocation): Promise<number> {
  const opened = openStore(given, 'existing')
  try {
    return await resumeSession(given, opened, given.argument('FILE'))
  } finally {
    await opened.store.close()
  }
}
