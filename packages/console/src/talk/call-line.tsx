import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import type { Call, CallState } from '../conversation/conversation.ts'
import { Fold } from '../look/fold.tsx'
import type { IconName } from '../look/icon.tsx'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { duration } from '../look/measures.ts'
import { Block, Words } from '../look/words.tsx'

const states: Readonly<Record<CallState, readonly [IconName, string]>> = {
  writing: ['retry', 'is being written'],
  called: ['ring', 'called'],
  asked: ['pause', 'waits for an approval'],
  running: ['retry', 'runs'],
  done: ['check', 'done'],
  failed: ['alert', 'failed'],
  denied: ['flag', 'denied'],
  skipped: ['cross', 'skipped'],
}

/** The tool of code mode: its calls have a view of their own. */
const scriptTool = 'code_execute'

/** A call in one line. Its arguments, its result and the way to its step unfold. */
export function CallLine({
  call,
  sessionId,
  unfolded,
}: {
  readonly call: Call
  readonly sessionId: string
  readonly unfolded: Set<string>
}): ReactNode {
  const { callId, toolName, state, input, written, output, label, durationMs, reason, activity } = call
  const [icon, word] = states[state]
  return (
    <Fold
      className={`call ${state}`}
      kept={{ id: callId, unfolded }}
      summary={
        <>
          <Icon name="tool" />
          <code className="name">
            <Words limit={128}>{toolName}</Words>
          </code>
          <span className="clip dim">
            <Words limit={160}>{written ?? input ?? ''}</Words>
          </span>
          <span className={`state-word ${state}`}>
            <Icon name={icon} /> {word}
            {durationMs !== undefined && ` ${duration(durationMs)}`}
          </span>
        </>
      }
    >
      {activity !== undefined && (
        <p className="dim">
          <Words limit={200}>{activity}</Words>
        </p>
      )}
      {reason !== undefined && (
        <p>
          <Words limit={2_000}>{reason}</Words>
        </p>
      )}
      <h4>Arguments</h4>
      <Block label={`Arguments of ${toolName}`}>{written ?? input}</Block>
      {output && (
        <>
          <h4>
            Result <LabelChips label={label} />
          </h4>
          <Block label={`Result of ${toolName}`}>{valueOf(output)}</Block>
        </>
      )}
      {state !== 'writing' && (
        <p className="call-links">
          <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'timeline' }} search={{ call: callId }}>
            Call in the timeline
          </Link>
          {toolName === scriptTool && (
            <Link to="/sessions/$id/$view" params={{ id: sessionId, view: 'scripts' }} search={{ pointer: callId }}>
              Script
            </Link>
          )}
        </p>
      )}
    </Fold>
  )
}

function valueOf(output: NonNullable<Call['output']>): unknown {
  if (output.type === 'execution-denied') return output.reason ?? 'denied'
  if (output.type !== 'content') return output.value
  return output.value.map((part) => (part.type === 'text' ? part.text : `[${part.type} ${part.mediaType}]`)).join('\n')
}
