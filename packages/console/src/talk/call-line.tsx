import type { ReactNode } from 'react'

import type { IconName } from '../look/icon.tsx'
import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { duration } from '../look/measures.ts'
import { Block, Words } from '../look/words.tsx'
import type { Call, CallState } from './conversation.ts'

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

/** A call in one line. Its arguments and its result unfold. */
export function CallLine({ call }: { readonly call: Call }): ReactNode {
  const { toolName, state, input, written, output, label, durationMs, reason, activity } = call
  const [icon, word] = states[state]
  const shown = output && valueOf(output)
  return (
    <details className={`call ${state}`}>
      <summary>
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
      </summary>
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
          <Block label={`Result of ${toolName}`}>{shown}</Block>
        </>
      )}
    </details>
  )
}

function valueOf(output: NonNullable<Call['output']>): unknown {
  if (output.type === 'execution-denied') return output.reason ?? 'denied'
  if (output.type !== 'content') return output.value
  return output.value.map((part) => (part.type === 'text' ? part.text : `[${part.type} ${part.mediaType}]`)).join('\n')
}
