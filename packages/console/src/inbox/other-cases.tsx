import type { JsonSchema } from '@provost/core'
import { isRecord } from '@provost/core'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { Icon } from '../look/icon.tsx'
import { Block, Words } from '../look/words.tsx'
import { AnswerForm } from '../talk/answer-form.tsx'
import { client } from '../wire/connection.ts'
import { queries, releaseSession, waitsQuery } from '../wire/queries.ts'
import type { CaseProps } from './case-props.ts'
import { deliver, hold } from './decisions.ts'
import { keyOf } from './inbox-rows.ts'

/** A question of a tool. */
export function QuestionCase({ wait, mayDecide, decided }: CaseProps): ReactNode {
  const { wait: asked } = wait
  if (!asked || !mayDecide) return <Plain text={wait.text} />
  const { message, schema, approves } = asked
  const question = {
    ...{ toolName: asked.toolName, agent: wait.agent },
    message: typeof message === 'string' ? message : wait.text,
    ...(isSchema(schema) && { schema }),
    ...(approves === true && { approves: true as const }),
  }
  return (
    <div className="case-body">
      <AnswerForm
        question={question}
        onAnswer={async (value) => {
          await client.decide(wait.sessionId, { inputs: [{ id: wait.id, value }] })
          decided()
        }}
      />
    </div>
  )
}

function isSchema(value: unknown): value is JsonSchema {
  return isRecord(value)
}

/** A call that may have taken effect. */
export function UncertainCase({ wait, mayDecide, decided }: CaseProps): ReactNode {
  const callId = wait.wait?.callId ?? wait.id
  const send = (decision: 'done' | 'retry' | 'fail', text: string): void => {
    hold(keyOf(wait), text, () => client.decide(wait.sessionId, { uncertain: [{ callId, decision }] }))
    decided()
  }
  return (
    <div className="case-body">
      <h2>
        Did{' '}
        <code>
          <Words limit={128}>{wait.wait?.toolName ?? 'this call'}</Words>
        </code>{' '}
        take place?
      </h2>
      <p>
        The call had started when its process ended, so its outcome is unknown. Look it up where it has its effect
        before you answer.
      </p>
      <Input wait={wait.wait} />
      {mayDecide && (
        <div className="buttons">
          <button type="button" onClick={() => send('done', 'Answered: it took place')}>
            It took place
          </button>
          <button type="button" onClick={() => send('retry', 'Answered: call it again')}>
            It did not: call it again
          </button>
          <button type="button" className="deny" onClick={() => send('fail', 'Answered: it failed')}>
            It did not: let it fail
          </button>
        </div>
      )}
    </div>
  )
}

/** A call whose result comes from outside. */
export function RemoteCase({ wait, mayDecide, decided }: CaseProps): ReactNode {
  const [text, setText] = useState('')
  const callId = wait.wait?.callId ?? wait.id
  return (
    <div className="case-body">
      <h2>
        <code>
          <Words limit={128}>{wait.wait?.toolName ?? 'A call'}</Words>
        </code>{' '}
        waits for its result
      </h2>
      <p>A client of this session executes the call. Give the result yourself only if that client is gone.</p>
      <Input wait={wait.wait} />
      {mayDecide && (
        <form
          className="question"
          onSubmit={(event) => {
            event.preventDefault()
            hold(keyOf(wait), 'Result given', () =>
              client.decide(wait.sessionId, { toolResults: [{ callId, output: text }] }),
            )
            decided()
          }}
        >
          <label>
            Result as text
            <textarea required rows={4} value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} />
          </label>
          <button type="submit" className="primary">
            Give this result
          </button>
        </form>
      )}
    </div>
  )
}

/** A session whose processes died again and again. */
export function QuarantineCase(props: CaseProps): ReactNode {
  const { wait } = props
  return (
    <div className="case-body">
      <h2>Release this session?</h2>
      <p>
        <Words limit={2_000}>{wait.text}</Words>
      </p>
      <p>Find out first why they died. A released session is resumed, and may end its process again.</p>
      <SendAtOnce {...props} text="Released" send={() => releaseSession(wait.sessionId)}>
        Release it
      </SendAtOnce>
    </div>
  )
}

/** A run that waits until a change of its agent is accepted. */
export function ChangeCase(props: CaseProps): ReactNode {
  const { wait } = props
  const { change } = wait
  if (!change) return <Plain text={wait.text} />
  const { from, to, instructions, tools } = change
  return (
    <div className="case-body">
      <h2>
        Continue with the changed <Words limit={100}>{change.agent}</Words>?
      </h2>
      <p>The code of the agent changed since the run began. The run continues only if you accept the change.</p>
      <ul className="plain">
        {from !== to && (
          <li>
            version <Words limit={60}>{from ?? 'none'}</Words> <Icon name="handoff" title="is now" />{' '}
            <Words limit={60}>{to ?? 'none'}</Words>
          </li>
        )}
        {instructions && <li>the instructions changed</li>}
        {tools.map(({ name, change: how }) => (
          <li key={name}>
            tool{' '}
            <code>
              <Words limit={128}>{name}</Words>
            </code>{' '}
            was {how}
          </li>
        ))}
      </ul>
      <SendAtOnce {...props} text="Accepted" send={() => client.acceptChange(wait.sessionId, change.id)}>
        Accept the change
      </SendAtOnce>
    </div>
  )
}

/** A decision that is sent at once, without a time to undo it. */
function SendAtOnce({
  wait,
  mayDecide,
  decided,
  text,
  send,
  children,
}: CaseProps & {
  /** What the row says of the outcome. */
  readonly text: string
  readonly send: () => Promise<unknown>
  readonly children: string
}): ReactNode {
  if (!mayDecide) return null
  const deliverAndRead = async (): Promise<void> => {
    await send()
    await queries.invalidateQueries({ queryKey: waitsQuery.queryKey })
  }
  return (
    <div className="buttons">
      <button
        type="button"
        className="primary"
        onClick={() => void deliver(keyOf(wait), text, deliverAndRead).then(decided)}
      >
        {children}
      </button>
    </div>
  )
}

function Plain({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="case-body">
      <p>
        <Words limit={4_000}>{text}</Words>
      </p>
    </div>
  )
}

function Input({ wait }: { readonly wait: CaseProps['wait']['wait'] }): ReactNode {
  if (!wait) {
    return (
      <p>
        <Icon name="lock" /> [withheld: secret] Your role does not read the arguments of this call.
      </p>
    )
  }
  return <Block label="Arguments of the call">{wait['input']}</Block>
}
