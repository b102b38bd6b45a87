import type { Extension } from '@provost/core'
import { ProvostError } from '@provost/core'

import type { Invocation } from '../command/command.ts'
import { isMissing } from '../project/installed.ts'

/** The spans of a run in this process. */
export interface RunTrace {
  /** Extensions for the session. */
  readonly extensions: readonly Extension[]
  /** Shows the spans as a tree. */
  show(): void
}

const none: RunTrace = { extensions: [], show: () => undefined }

/**
 * Collects the spans of a run for `--trace`. They stay in this process.
 *
 * @throws ProvostError `missing-package`
 */
export async function openTrace({ flag, terminal }: Invocation): Promise<RunTrace> {
  if (!flag('trace')) return none
  const { collectSpans, printSpans, telemetry } = await loadTelemetry()
  const { tracer, take } = collectSpans()
  return {
    extensions: [telemetry({ tracer })],
    show: () => terminal.note(printSpans(take(), { colours: terminal.colours }).trimEnd()),
  }
}

async function loadTelemetry(): Promise<typeof import('@provost/telemetry')> {
  try {
    return await import('@provost/telemetry')
  } catch (cause) {
    if (!isMissing(cause)) throw cause
    throw new ProvostError('missing-package', '--trace needs the package @opentelemetry/api, which is not installed.', {
      hint: 'npm install @opentelemetry/api',
      cause,
    })
  }
}
