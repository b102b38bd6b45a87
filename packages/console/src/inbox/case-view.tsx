import type { ConsoleWait } from '@provost/server/console'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { AgentFor } from '../look/agent-for.tsx'
import { Words } from '../look/words.tsx'
import { accessQuery } from '../wire/queries.ts'
import { ApprovalCase } from './approval-case.tsx'
import type { CaseProps } from './case-props.ts'
import { ChangeCase, QuarantineCase, QuestionCase, RemoteCase, UncertainCase } from './other-cases.tsx'

/** One case: who asks in which session, and what its kind needs for a decision. */
export function CaseView({
  wait,
  isOpen,
  decided,
}: {
  readonly wait: ConsoleWait
  readonly isOpen: boolean
  readonly decided: () => void
}): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const role = access?.role ?? 'view'
  const props = { wait, mayDecide: isOpen && role !== 'view', decided }
  return (
    <section className="case-view" aria-label="The selected case">
      <p className="dim facts">
        <Link
          to="/sessions/$id/$view"
          params={{ id: wait.sessionId, view: 'timeline' }}
          search={{ log: wait.log, entry: wait.offset }}
        >
          {wait.title === '' ? 'untitled session' : <Words limit={160}>{wait.title}</Words>}
        </Link>
        <span>
          asked by <AgentFor agent={wait.agent} principal={wait.requester} />
        </span>
      </p>
      <CaseOf {...props} />
      {isOpen && role === 'view' && (
        <p className="dim">
          You have the role <code>view</code>. Principals with the role <code>decide</code> answer this.
        </p>
      )}
    </section>
  )
}

function CaseOf(props: CaseProps): ReactNode {
  switch (props.wait.kind) {
    case 'approval':
      return <ApprovalCase {...props} />
    case 'input':
      return <QuestionCase {...props} />
    case 'uncertain':
      return <UncertainCase {...props} />
    case 'remote':
      return <RemoteCase {...props} />
    case 'quarantined':
      return <QuarantineCase {...props} />
    case 'change':
      return <ChangeCase {...props} />
  }
}
