import { isRecord } from '@provost/core'
import type { ReactNode } from 'react'
import { useEffect, useMemo, useRef, useState } from 'react'

import { useKeys } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'
import { Block, Words } from '../look/words.tsx'
import { client } from '../wire/connection.ts'
import type { CaseProps } from './case-props.ts'
import { hold, useDecisions } from './decisions.ts'
import { EditForm } from './edit-form.tsx'
import { caseOf } from './evidence.ts'
import { Flow } from './flow.tsx'
import { keyOf } from './inbox-rows.ts'

/** A call that waits for an approval, with the flow of its values and the decision. */
export function ApprovalCase({ wait, mayDecide, decided }: CaseProps): ReactNode {
  const drawn = useMemo(() => caseOf(wait), [wait])
  const [reason, setReason] = useState('')
  const [sticks, setSticks] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const [problem, setProblem] = useState<string | undefined>()
  const end = useRef<HTMLDivElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const wasSeen = useSeen(end)
  const toolName = wait.wait?.toolName ?? wait.tool?.name ?? ''
  const decide = (decision: 'approve' | 'deny', args?: unknown): void => {
    if (!mayDecide) return
    const given = {
      id: wait.id,
      decision,
      ...(reason.trim() !== '' && { reason: reason.trim() }),
      ...(args !== undefined && { args }),
      ...(decision === 'approve' && sticks && { sticky: 'session' as const }),
    }
    const verb = decision === 'deny' ? 'Denied' : args === undefined ? 'Approved' : 'Sent with other arguments:'
    hold(keyOf(wait), `${verb} ${toolName === '' ? 'the answer' : toolName}`, () =>
      client.decide(wait.sessionId, { approvals: [given] }),
    )
    decided()
  }
  const isHeld = keyOf(wait) in useDecisions().held
  useKeys('Case', [
    {
      key: 'a',
      does: 'approve, once the whole case was on the screen',
      run: () =>
        wasSeen.current ? decide('approve') : setProblem('Read the case to its end first, then press a again.'),
    },
    { key: 'd', does: 'deny', run: () => decide('deny') },
    { key: 'e', does: 'edit the arguments', run: () => setEditing(mayDecide) },
    { key: 'r', does: 'write a reason', run: () => field.current?.focus() },
  ])
  const why = wait.wait?.['reason']
  return (
    <>
      <div className="case-body">
        <h2>
          May <Words limit={100}>{wait.agent}</Words>{' '}
          {toolName === '' ? (
            'give this answer'
          ) : (
            <>
              call{' '}
              <code>
                <Words limit={128}>{toolName}</Words>
              </code>
            </>
          )}
          ?
        </h2>
        <p className="hot">
          <Words limit={4_000}>{typeof why === 'string' ? why : wait.text}</Words>
        </p>
        {wait.rule !== undefined && (
          <p className="dim">
            The rule <code>{wait.rule}</code> asks.
          </p>
        )}
        {wait.wait ? (
          <Flow wait={wait} drawn={drawn} />
        ) : (
          <p>
            <Icon name="lock" /> [withheld: secret] Your role does not read the arguments of this call.
          </p>
        )}
        <Contract contract={drawn.contract} />
        {drawn.rest !== undefined && (
          <details>
            <summary>All evidence of the policy</summary>
            <Block label="All evidence of the policy">{drawn.rest}</Block>
          </details>
        )}
        {isEditing && wait.wait && (
          <EditForm
            input={wait.wait['input']}
            schema={wait.tool?.schema}
            send={(args) => decide('approve', args)}
            close={() => setEditing(false)}
          />
        )}
        <div ref={end} />
      </div>
      {mayDecide && !isHeld && (
        <form className="decide" aria-label="Decision" onSubmit={(event) => event.preventDefault()}>
          {problem !== undefined && (
            <p className="hot" role="alert">
              {problem}
            </p>
          )}
          <label>
            <span>
              Reason <span className="dim">(the model is told)</span>
            </span>
            <input
              ref={field}
              value={reason}
              maxLength={10_000}
              onChange={({ currentTarget }) => setReason(currentTarget.value)}
            />
          </label>
          {wait.sticky === 'session' && (
            <label className="check">
              <input type="checkbox" checked={sticks} onChange={() => setSticks(!sticks)} /> Approve the same arguments
              for the rest of this session
            </label>
          )}
          <div className="buttons">
            <button type="button" className="deny" onClick={() => decide('deny')}>
              Deny <kbd>d</kbd>
            </button>
            {wait.wait && (
              <button type="button" onClick={() => setEditing(true)}>
                Edit <kbd>e</kbd>
              </button>
            )}
            <button type="button" className="primary" disabled={!wait.wait} onClick={() => decide('approve')}>
              Approve this call <kbd>a</kbd>
            </button>
          </div>
        </form>
      )}
    </>
  )
}

/** What the user asked for, and how the call differs from it. */
function Contract({ contract }: { readonly contract: unknown }): ReactNode {
  if (!isRecord(contract)) return null
  const { clause, differs } = contract
  return (
    <dl className="contract">
      {typeof clause === 'string' && (
        <div>
          <dt>The user asked</dt>
          <dd>
            “<Words limit={400}>{clause}</Words>”
          </dd>
        </div>
      )}
      {typeof differs === 'string' && (
        <div>
          <dt>The call differs</dt>
          <dd>
            <Words limit={400}>{differs}</Words>
          </dd>
        </div>
      )}
    </dl>
  )
}

/** Milliseconds for which a case is shown before a key approves it: a key may be meant for the case before. */
const soonestMs = 1_000

/** Whether the end of a case was on the screen, and the case for a second. */
function useSeen(end: React.RefObject<HTMLElement | null>): React.RefObject<boolean> {
  const seen = useRef(false)
  useEffect(() => {
    const element = end.current
    if (!element) return
    const since = performance.now()
    let timer: ReturnType<typeof setTimeout> | undefined
    const watch = new IntersectionObserver((changes) => {
      if (!changes.some(({ isIntersecting }) => isIntersecting)) return
      watch.disconnect()
      timer = setTimeout(() => (seen.current = true), Math.max(0, soonestMs - (performance.now() - since)))
    })
    watch.observe(element)
    return () => {
      watch.disconnect()
      clearTimeout(timer)
    }
  }, [])
  return seen
}
