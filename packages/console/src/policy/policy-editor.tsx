import type { WhatIfAnswer } from '@provost/server/console'
import { queryOptions, useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useId, useState } from 'react'

import { count } from '../look/measures.ts'
import { Failure, Loading } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import type { EditedPolicy } from '../wire/console-api.ts'
import { consoleApi } from '../wire/console-api.ts'

import '../entries/table.css'
import './policy.css'

const rulesQuery = queryOptions({ queryKey: ['rules'], queryFn: ({ signal }) => consoleApi.rules(signal) })

/** Sessions that one request judges at most. */
export const mostJudged = 50

/** Edits a policy, and shows what it would have done in recorded sessions. */
export function PolicyEditor({
  sessions,
  tools,
}: {
  readonly sessions: readonly string[]
  readonly tools: readonly string[]
}): ReactNode {
  const { data, error, isPending } = useQuery(rulesQuery)
  const [policy, setPolicy] = useState<EditedPolicy>({
    set: 'intent',
    without: [],
    deny: [],
    ask: [],
    onViolation: 'ask',
  })
  const judged = useMutation({
    mutationFn: () => consoleApi.whatIf({ sessions: sessions.slice(0, mostJudged), policy }),
  })
  const ids = useId()
  if (isPending) return <Loading rows={2} />
  if (!data) return <Failure error={error} />
  const rules = data.sets.find(({ set }) => set === policy.set)?.rules ?? []
  const change = (part: Partial<EditedPolicy>): void => setPolicy({ ...policy, ...part })
  return (
    <section className="what-if" aria-labelledby={`${ids}-title`}>
      <h2 id={`${ids}-title`}>What another policy would have done</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          judged.mutate()
        }}
      >
        <label>
          Rules
          <select value={policy.set} onChange={({ target }) => change({ set: target.value, without: [] })}>
            {data.sets.map(({ set }) => (
              <option key={set}>{set}</option>
            ))}
          </select>
        </label>
        <label>
          When a rule objects
          <select
            value={policy.onViolation}
            onChange={({ target }) => change({ onViolation: target.value === 'deny' ? 'deny' : 'ask' })}
          >
            <option value="ask">ask a human</option>
            <option value="deny">deny the call</option>
          </select>
        </label>
        <fieldset>
          <legend>Rules of the set, in their order</legend>
          {rules.map((rule) => (
            <label key={rule} className="check">
              <input
                type="checkbox"
                checked={!policy.without.includes(rule)}
                onChange={({ target }) =>
                  change({
                    without: target.checked ? policy.without.filter((one) => one !== rule) : [...policy.without, rule],
                  })
                }
              />
              <span>{rule}</span>
            </label>
          ))}
        </fieldset>
        {(['deny', 'ask'] as const).map((what) => (
          <label key={what}>
            {what === 'deny' ? 'Always deny these tools' : 'Always ask before these tools'}
            <input
              list={`${ids}-tools`}
              placeholder="refund, send_mail"
              onChange={({ target }) => change({ [what]: target.value.split(/[\s,]+/u).filter(Boolean) })}
            />
          </label>
        ))}
        <datalist id={`${ids}-tools`}>
          {tools.map((tool) => (
            <option key={tool} value={tool} />
          ))}
        </datalist>
        <button type="submit" className="primary" disabled={judged.isPending || sessions.length === 0}>
          Judge {sessions.length === 1 ? 'this session' : `${count(Math.min(sessions.length, mostJudged))} sessions`}
        </button>
      </form>
      {judged.isPending && <Loading rows={3} height={30} />}
      {judged.error && <Failure error={judged.error} retry={() => judged.mutate()} />}
      {judged.data && <Verdicts answer={judged.data} />}
    </section>
  )
}

const changes: Readonly<Record<string, string>> = {
  'now-allows-human-refused': 'allowed, but a human refused it',
  loosened: 'less strict',
  tightened: 'stricter',
  'now-asks-human-agreed': 'asked, and a human agreed',
  'cannot-judge': 'cannot be judged',
  moved: 'same, by another rule',
  unchanged: 'unchanged',
}

function Verdicts({ answer }: { readonly answer: WhatIfAnswer }): ReactNode {
  const order = Object.keys(changes)
  const rows = answer.calls.toSorted((a, b) => order.indexOf(a.change) - order.indexOf(b.change))
  if (rows.length === 0) return <p role="status">These sessions have no call that writes or sends.</p>
  const differing = rows.filter(({ change }) => change !== 'unchanged' && change !== 'moved')
  return (
    <>
      <p role="status">
        {count(differing.length)} of {count(rows.length)} calls would have another verdict
        {answer.more ? ', of more calls than are shown' : ''}. No model and no tool was called.
      </p>
      <div className="table-box" tabIndex={0} role="region" aria-label="Verdicts of the edited policy">
        <table>
          <thead>
            <tr>
              <th scope="col">Call</th>
              <th scope="col">Change</th>
              <th scope="col">Was</th>
              <th scope="col">Would be</th>
              <th scope="col">Arguments</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((call) => (
              <tr key={`${call.sessionId} ${call.callId}`} className={`change-${call.change}`}>
                <td>
                  <Link to="/sessions/$id/$view" params={{ id: call.sessionId, view: 'timeline' }}>
                    <Words limit={60}>{call.tool}</Words>
                  </Link>{' '}
                  <span className="dim">
                    by <Words limit={40}>{call.agent}</Words>
                  </span>
                </td>
                <td>
                  {changes[call.change] ?? call.change}
                  {call.counterfactual && <span className="dim"> (hypothetical: an earlier verdict changed)</span>}
                </td>
                <td>
                  <Verdict {...call.before} />
                  {call.human && <span className="dim"> then {call.human === 'approve' ? 'approved' : 'denied'}</span>}
                </td>
                <td>
                  <Verdict {...call.would} />
                </td>
                <td>
                  {call.arguments.slice(0, 6).map(({ path, value, origin }) => (
                    <div key={path}>
                      <code>
                        <Words limit={40}>{path}</Words>
                      </code>{' '}
                      <Words limit={80}>{value}</Words>
                      {origin !== undefined && <span className="dim"> ({origin})</span>}
                    </div>
                  ))}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  )
}

function Verdict({ decision, rule, reason, missing }: WhatIfAnswer['calls'][number]['would']): ReactNode {
  return (
    <>
      <strong className={decision === 'deny' ? 'hot' : ''}>{decision}</strong>
      {rule !== undefined && (
        <span className="dim">
          {' '}
          by <Words limit={60}>{rule}</Words>
        </span>
      )}
      {reason !== undefined && (
        <div className="dim">
          <Words limit={200}>{reason}</Words>
        </div>
      )}
      {missing && (
        <div className="dim">
          The record lacks <Words limit={200}>{missing.join(', ')}</Words>.
        </div>
      )}
    </>
  )
}
