/** What to do on a command line, where the hint of an error names a function. */
const hints: Readonly<Record<string, string>> = {
  'already-decided': 'See what waits with: provost show SESSION',
  'nothing-to-resume': 'Start a run with: provost run FILE INPUT --session SESSION',
  'session-busy': 'Stop the process that has the session, or wait longer: --wait SECONDS',
  'session-exists': 'Import it under another id: --id ID',
  'session-open': 'Finish that run first: provost resume SESSION FILE',
  'definition-changed':
    'Resume it with --accept-changes, if the rule of its agent is ask; otherwise with the earlier code. The run is unchanged.',
  'invalid-export': 'Pass a complete and unchanged file of provost export.',
  'unknown-session': 'List the sessions of the store with: provost runs',
}

/** Returns the hint of an error for this program. */
export function hintOf({ code, hint }: { readonly code: string; readonly hint?: string }): string | undefined {
  return Object.hasOwn(hints, code) ? hints[code] : hint
}
