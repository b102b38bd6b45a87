import { isRecord } from '@provost/core'
import type { ConsoleWait } from '@provost/server/console'
import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useMemo } from 'react'

import { caseOf } from '../inbox/evidence.ts'
import { Flow } from '../inbox/flow.tsx'
import { Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { textOf } from '../wire/read-json.ts'
import type { Mark } from './tour-marks.ts'

/** Entries after an audit entry among which the decision about its call is. */
const near = 20

/** Reads a stopped call in the form of one that waits; null if its entries are withheld. */
const stoppedQuery = ({ session, log, offset, callId }: Mark) =>
  queryOptions({
    queryKey: ['stopped', log, offset] as const,
    queryFn: async ({ signal }): Promise<ConsoleWait | null> => {
      const { entries } = await consoleApi.entries(session.id, { log, from: offset, to: offset + near }, signal)
      const audit = entries.find((entry) => entry.offset === offset)?.['evidence']
      const decided = entries.find((entry) => entry.type === 'call' && entry['callId'] === callId && 'args' in entry)
      if (!isRecord(audit) || !decided) return null
      const toolName = textOf(audit['tool'])
      const agent = textOf(decided['agent'])
      const wait = { id: '', callId: callId ?? '', toolName, input: decided['args'], evidence: audit['evidence'] }
      const { id: sessionId, title } = session
      const text = textOf(audit['reason'])
      return { kind: 'approval', id: '', sessionId, title, agent, at: 0, log, offset, text, wait }
    },
  })

/** A call that a policy has stopped, with the flow of its values. */
export function StoppedCall({ mark }: { readonly mark: Mark }): ReactNode {
  const { data: wait, isPending } = useQuery(stoppedQuery(mark))
  const drawn = useMemo(() => (wait ? caseOf(wait) : undefined), [wait])
  if (isPending) return <Loading rows={3} />
  if (!wait || !drawn) return <p className="dim">The evidence is withheld from your role.</p>
  return (
    <>
      <p className="hot">
        <Words limit={1_000}>{wait.text}</Words>
      </p>
      <Flow wait={wait} drawn={drawn} verdict="stopped" />
    </>
  )
}
