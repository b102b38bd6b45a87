import type { PendingApproval } from '@provost/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { argumentsOf, isWithin } from '../wire/read-json.ts'

/** A call that waits for a decision: its arguments with their origins and warnings, and the decision. */
export function ApprovalForm({
  sessionId,
  wait,
  onDecide,
}: {
  readonly sessionId: string
  readonly wait: PendingApproval
  readonly onDecide: (decision: 'approve' | 'deny', reason: string) => Promise<void>
}): ReactNode {
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState<string | undefined>()
  const [isSending, setSending] = useState(false)
  const decide = (decision: 'approve' | 'deny'): void => {
    setSending(true)
    setProblem(undefined)
    onDecide(decision, reason.trim()).catch((error: unknown) => {
      setProblem(problemLine(error))
      setSending(false)
    })
  }
  const { toolName, agent, input, label, origins = [], warnings = [] } = wait
  return (
    <section className="question" aria-label={`Approval of ${toolName}`}>
      <h3>
        May <Words limit={100}>{agent}</Words> call{' '}
        <code>
          <Words limit={128}>{toolName || 'its answer'}</Words>
        </code>
        ? <LabelChips label={label} />
      </h3>
      <p className="hot">
        <Words limit={2_000}>{wait.reason}</Words>
      </p>
      <dl className="args">
        {argumentsOf(input, 'answer').map(({ pointer, name, value }) => {
          const isOf = ({ path }: { readonly path: string }): boolean => isWithin(path, pointer)
          const origin = origins.find(isOf)
          return (
            <div key={name}>
              <dt>
                <Words limit={80}>{name}</Words>
                {origin && (
                  <span className="dim">
                    {' '}
                    {kinds[origin.kind] ?? origin.kind}{' '}
                    <Words limit={200}>{origin.sources.slice(0, 4).join(', ')}</Words>
                  </span>
                )}
              </dt>
              <dd>
                <Words limit={4_000}>{value}</Words>
              </dd>
              {warnings.filter(isOf).map(({ text }) => (
                <dd key={text} className="hot">
                  <Icon name="alert" /> <Words limit={400}>{text}</Words>
                </dd>
              ))}
            </div>
          )
        })}
      </dl>
      <p>
        <Link to="/inbox" search={{ case: `approval:${sessionId}:${wait.id}` }}>
          Where the values came from
        </Link>
      </p>
      <label>
        Reason (the model is told)
        <input value={reason} maxLength={10_000} onChange={({ currentTarget }) => setReason(currentTarget.value)} />
      </label>
      <div className="buttons">
        <button type="button" className="deny" disabled={isSending} onClick={() => decide('deny')}>
          Deny
        </button>
        <button type="button" className="primary" disabled={isSending} onClick={() => decide('approve')}>
          Approve this call
        </button>
      </div>
      {problem !== undefined && (
        <p className="hot" role="alert">
          {problem}
        </p>
      )}
    </section>
  )
}

const kinds: Readonly<Record<string, string>> = {
  own: 'from the user',
  trusted: 'from trusted data',
  nowhere: 'written by the model',
  value: 'from',
  prose: 'from text of',
}
