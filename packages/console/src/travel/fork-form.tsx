import type { ForkAnswer, StateAnswer } from '@provost/server/console'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useId, useState } from 'react'

import type { IndexEntry } from '../entries/indexed-log.ts'
import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { client } from '../wire/connection.ts'
import type { ForkRequest } from '../wire/console-api.ts'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery } from '../wire/queries.ts'

type Unfinished = 'leave-out' | 'end' | 'continue'

/** The choice of instructions that are written in the form. */
const ownPrompt = '\u0000own'

/** Makes a session of the entries up to one, with another model, policy, prompt, result or input. */
export function ForkForm({
  sessionId,
  at,
  entry,
  state,
}: {
  readonly sessionId: string
  readonly at: number
  readonly entry: IndexEntry | undefined
  readonly state: StateAnswer | undefined
}): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const isOpen = state?.status === 'running' || state?.status === 'suspended'
  const [unfinished, setUnfinished] = useState<Unfinished>()
  const [model, setModel] = useState('')
  const [policy, setPolicy] = useState('')
  const [prompt, setPrompt] = useState('')
  const [promptText, setPromptText] = useState('')
  const [callId, setCallId] = useState('')
  const [result, setResult] = useState('')
  const [input, setInput] = useState('')
  const ids = useId()
  const chosen = unfinished ?? (isOpen ? 'continue' : 'end')
  const calls = callsAt(entry, state)
  const fork = useMutation({
    async mutationFn(): Promise<ForkAnswer> {
      const request: ForkRequest = {
        at,
        unfinished: chosen,
        ...(model !== '' && chosen === 'continue' && { model }),
        ...(policy !== '' && { policy }),
        ...(prompt === ownPrompt ? promptText !== '' && { promptText } : prompt !== '' && { prompt }),
        ...(callId !== '' && chosen !== 'leave-out' && { results: [{ callId, output: result }] }),
      }
      const made = await consoleApi.fork(sessionId, request)
      if (chosen !== 'continue' && input.trim() !== '') {
        // The fork has its first event when the run begins; the views of the fork follow it.
        const options = model === '' ? {} : { model }
        const stream = client.session(made.sessionId).execute(input, options)
        stream.result.catch(() => {})
      }
      return made
    },
  })
  if (access?.role !== 'operate') return <p className="dim">To fork, you need the role operate.</p>
  return (
    <form
      className="fork"
      aria-labelledby={`${ids}-title`}
      onSubmit={(event) => {
        event.preventDefault()
        fork.mutate()
      }}
    >
      <h2 id={`${ids}-title`}>Fork after entry {at}</h2>
      <label>
        The turn
        <select value={chosen} onChange={({ target }) => setUnfinished(asUnfinished(target.value))}>
          {isOpen && <option value="continue">continues from here</option>}
          <option value="end">ends here</option>
          <option value="leave-out">is left out, if it had not ended</option>
        </select>
      </label>
      {access.models.length > 0 && <Choice label="Model" names={access.models} value={model} onChoose={setModel} />}
      {access.policies.length > 0 && (
        <Choice label="Policy" names={access.policies} value={policy} onChoose={setPolicy} />
      )}
      <label>
        Instructions
        <select value={prompt} onChange={({ target }) => setPrompt(target.value)}>
          <option value="">as before</option>
          {access.prompts.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
          <option value={ownPrompt}>others, written here</option>
        </select>
      </label>
      {prompt === ownPrompt && (
        <label>
          Its instructions
          <textarea rows={4} required value={promptText} onChange={({ target }) => setPromptText(target.value)} />
        </label>
      )}
      {calls.length > 0 && chosen !== 'leave-out' && (
        <>
          <label>
            Another result of
            <select value={callId} onChange={({ target }) => setCallId(target.value)}>
              <option value="">no call</option>
              {calls.map((call) => (
                <option key={call.callId} value={call.callId}>
                  {call.toolName}
                </option>
              ))}
            </select>
          </label>
          {callId !== '' && (
            <label>
              Its result
              <textarea rows={3} value={result} onChange={({ target }) => setResult(target.value)} />
            </label>
          )}
        </>
      )}
      {chosen !== 'continue' && (
        <label>
          Then say
          <textarea
            rows={2}
            value={input}
            placeholder="Nothing: the fork waits for its first message."
            onChange={({ target }) => setInput(target.value)}
          />
        </label>
      )}
      <button type="submit" className="primary" disabled={fork.isPending}>
        Fork
      </button>
      <div role="status">
        {fork.error && (
          <p className="hot">
            <Words limit={400}>{problemLine(fork.error)}</Words>
          </p>
        )}
        {fork.data && <Forked sessionId={sessionId} made={fork.data} />}
      </div>
    </form>
  )
}

/** A choice among the names that the server offers. */
function Choice({
  label,
  names,
  value,
  onChoose,
}: {
  readonly label: string
  readonly names: readonly string[]
  readonly value: string
  readonly onChoose: (name: string) => void
}): ReactNode {
  return (
    <label>
      {label}
      <select value={value} onChange={({ target }) => onChoose(target.value)}>
        <option value="">as before</option>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function Forked({ sessionId, made }: { readonly sessionId: string; readonly made: ForkAnswer }): ReactNode {
  return (
    <>
      <p>
        The fork has the entries up to {made.offset}. Not copied: {made.left.join(', ')}.
      </p>
      <p className="buttons">
        <Link to="/sessions/$id/$view" params={{ id: made.sessionId, view: 'timeline' }}>
          Open the fork
        </Link>
        <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'travel' }} search={{ with: made.sessionId }}>
          Compare both
        </Link>
      </p>
    </>
  )
}

function asUnfinished(text: string): Unfinished {
  return text === 'continue' || text === 'leave-out' ? text : 'end'
}

/** Returns the calls whose results a fork may replace: the open ones, and the one that the entry settles. */
function callsAt(
  entry: IndexEntry | undefined,
  state: StateAnswer | undefined,
): readonly { readonly callId: string; readonly toolName: string }[] {
  const open = state?.calls ?? []
  if (entry?.type !== 'call' || entry.op !== 'settled' || entry.callId === undefined) return open
  return [{ callId: entry.callId, toolName: 'the call that this entry settles' }, ...open]
}
