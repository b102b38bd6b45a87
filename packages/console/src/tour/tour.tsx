import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { Icon } from '../look/icon.tsx'
import { Failure, problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery, sessionsQuery, waitsQuery } from '../wire/queries.ts'
import { StoppedCall } from './stopped-call.tsx'
import type { Mark, Sight } from './tour-marks.ts'
import { marksQuery } from './tour-marks.ts'

interface Step {
  readonly sight: Sight
  readonly title: string
  readonly text: string
  /** The command of this repository that makes a session with it. */
  readonly command: string
}

const steps: readonly Step[] = [
  {
    sight: 'stopped',
    title: 'A mail gives orders. The call is stopped.',
    text: 'The model obeyed words of an outsider. The policy knows where each value of the call came from, and stopped it.',
    command: 'npm start',
  },
  {
    sight: 'asked',
    title: 'A call waits for a human.',
    text: 'The run is suspended in its log, for seconds or for weeks. Any process continues it with the answer.',
    command: 'npm start',
  },
  {
    sight: 'resumed',
    title: 'A process is killed. The next one pays nothing twice.',
    text: 'Each step is in the log before it takes effect. The log shows where another process took over, and that the payment before it was not repeated.',
    command: 'npm start',
  },
  {
    sight: 'fan-out',
    title: 'Agents work side by side.',
    text: 'A fan-out starts children, each with a log of its own, and merges what they return.',
    command: 'npm start',
  },
  {
    sight: 'script',
    title: 'The model writes a script.',
    text: 'One script calls many tools. Each call is judged, recorded and resumed like any other.',
    command: 'npm start -- --code-mode --only 10-two-orders.eml',
  },
  {
    sight: 'fork',
    title: 'What if?',
    text: 'A fork continues a copy of a session as your own. The original stays as it is.',
    command: 'provost fork SESSION',
  },
]

/** The first two minutes: what the last sessions of this server show, step by step. */
export function Tour(): ReactNode {
  const found = useInfiniteQuery(sessionsQuery({}))
  const sessions = found.data?.pages.flatMap(({ sessions: rows }) => rows) ?? []
  const { data: marks, error } = useQuery({ ...marksQuery(sessions), enabled: found.data !== undefined })
  return (
    <main id="main" tabIndex={-1} className="page tour">
      <h1>The first two minutes</h1>
      <p className="dim">
        What the last sessions of this server show. A step without an example names the command that makes one.
      </p>
      {!marks && !(error ?? found.error) && (
        <p className="dim" role="status">
          Reading the last sessions…
        </p>
      )}
      {(error ?? found.error) && <Failure error={error ?? found.error} />}
      <ol>
        {steps.map((step) => (
          <TourStep
            key={step.sight}
            step={step}
            marks={marks}
            latest={sessions.find(({ status }) => status === 'idle')?.id}
          />
        ))}
      </ol>
    </main>
  )
}

function TourStep({
  step: { sight, title, text, command },
  marks,
  latest,
}: {
  readonly step: Step
  /** Undefined while the sessions are read. */
  readonly marks: ReadonlyMap<Sight, Mark> | undefined
  /** The last session that ended its turn: the fork of one that waits would leave that turn out. */
  readonly latest: string | undefined
}): ReactNode {
  const mark = marks?.get(sight)
  return (
    <li className={mark ? 'seen' : ''}>
      <h2>
        <Icon name={mark ? 'check' : 'ring'} /> {title}
      </h2>
      <p>{text}</p>
      {mark && sight === 'stopped' && <StoppedCall mark={mark} />}
      {mark && (
        <p className="facts">
          {sight === 'asked' && <InboxLink sessionId={mark.session.id} />}
          <Link
            to="/sessions/$id/$view"
            params={{ id: mark.session.id, view: viewOf(sight) }}
            search={{ ...(mark.log !== mark.session.id && { log: mark.log }), entry: mark.offset }}
          >
            See it in the {viewOf(sight)} of “<Words limit={80}>{mark.session.title || 'untitled'}</Words>”
          </Link>
        </p>
      )}
      {marks && !mark && sight !== 'fork' && (
        <pre className="block" tabIndex={0} role="region" aria-label={`Command: ${title}`}>
          {command}
        </pre>
      )}
      {sight === 'fork' && latest !== undefined && <ForkLatest id={latest} />}
      {sight === 'fork' && latest === undefined && <p className="dim">No session has ended a turn yet.</p>}
    </li>
  )
}

/** The view that shows a sight: that a run was resumed is no row of the timeline. */
function viewOf(sight: Sight): string {
  return sight === 'resumed' ? 'log' : 'timeline'
}

function InboxLink({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { data = [] } = useQuery(waitsQuery)
  return data.some((wait) => wait.sessionId === sessionId) ? <Link to="/inbox">Decide it in the inbox</Link> : null
}

function ForkLatest({ id }: { readonly id: string }): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const navigate = useNavigate()
  const [problem, setProblem] = useState<string | undefined>()
  if (access?.role !== 'operate') return <p className="dim">The role `operate` forks sessions.</p>
  const fork = async (): Promise<void> => {
    const { sessionId } = await consoleApi.fork(id, {})
    await navigate({ to: '/sessions/$id', params: { id: sessionId } })
  }
  return (
    <>
      <button type="button" onClick={() => void fork().catch((error: unknown) => setProblem(problemLine(error)))}>
        Fork the last session
      </button>
      {problem !== undefined && (
        <p className="hot" role="alert">
          {problem}
        </p>
      )}
    </>
  )
}
