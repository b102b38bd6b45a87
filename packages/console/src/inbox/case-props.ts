import type { ConsoleWait } from '@provost/server/console'

/** What a case needs beside its wait. */
export interface CaseProps {
  readonly wait: ConsoleWait
  /** Whether the principal may decide, and the wait is open. */
  readonly mayDecide: boolean
  /** The principal has decided. */
  readonly decided: () => void
}
