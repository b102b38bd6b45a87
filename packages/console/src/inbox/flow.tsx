import { displayText } from '@provost/core'
import type { ConsoleWait } from '@provost/server/console'
import type { ReactNode } from 'react'
import { useRef } from 'react'

import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { Words } from '../look/words.tsx'
import { labelIn, textOf } from '../wire/read-json.ts'
import { useCurves } from './curves.ts'
import type { Argument, Case } from './evidence.ts'
import { SourceCard } from './source-card.tsx'

/** The flow of a call: where its values came from, through which agents, and what would happen. */
export function Flow({
  wait,
  drawn,
  verdict = 'asked about',
}: {
  readonly wait: ConsoleWait
  readonly drawn: Case
  /** What the rule says of the marked argument. */
  readonly verdict?: string
}): ReactNode {
  const box = useRef<HTMLDivElement>(null)
  const curves = useCurves(box, drawn)
  const { args, sources, path } = drawn
  const title = verdict === 'stopped' ? 'What would have happened' : 'What would happen'
  const effect = wait.tool?.effect ?? textOf(wait.wait?.['effect'])
  return (
    <div className={`flow ${sources.length === 0 ? 'bare' : ''}`} ref={box}>
      {sources.length > 0 && (
        <>
          <section className="sources" aria-label="Where the values came from">
            <h3>Where the values came from</h3>
            {sources.map((source) => (
              <SourceCard key={source.key} sessionId={wait.sessionId} source={source} args={args} />
            ))}
          </section>
          <section className="through" aria-label="Through which agents">
            <h3>Through</h3>
            <ol>
              {path.map((agent, at) => (
                <li key={agent} className="hop">
                  {at > 0 && <Icon name="handoff" />} <Words limit={60}>{agent}</Words>
                </li>
              ))}
            </ol>
          </section>
        </>
      )}
      <section className="sink" aria-label={title}>
        <h3>{title}</h3>
        <div className="call-card">
          <header>
            <code>
              <Words limit={128}>{wait.tool?.name ?? wait.wait?.toolName ?? 'the answer'}</Words>
            </code>
            {effect !== '' && <span className="chip">{effects[effect] ?? effect}</span>}
            {wait.tool?.idempotent && <span className="chip">repeatable</span>}
            <LabelChips label={labelIn(wait.wait?.['label'])} />
          </header>
          <dl>
            {args.map((arg) => (
              <ArgumentRow key={arg.pointer} arg={arg} verdict={verdict} />
            ))}
          </dl>
        </div>
      </section>
      {curves.length > 0 && (
        <svg className="curves" aria-hidden>
          {curves.map(({ d, end: [x, y], isBad }) => (
            <g key={d} className={isBad ? 'bad' : ''}>
              <path d={d} />
              <circle cx={x} cy={y} r={3} />
            </g>
          ))}
        </svg>
      )}
    </div>
  )
}

const effects: Readonly<Record<string, string>> = {
  none: 'computes only',
  read: 'reads',
  write: 'changes data',
  egress: 'sends data out',
}

function ArgumentRow({ arg, verdict }: { readonly arg: Argument; readonly verdict: string }): ReactNode {
  const { pointer, name, value, role, isAskedAbout, origin, warnings } = arg
  return (
    <div className={`arg ${isAskedAbout ? 'bad' : ''}`} data-sink={pointer}>
      <dt>
        <Words limit={80}>{name}</Words>
        {role !== undefined && <span className="dim"> {role}</span>}
        {isAskedAbout && (
          <span className="flag">
            <Icon name="flag" /> {verdict}
          </span>
        )}
      </dt>
      <dd className="value">
        <bdi>{displayText(value, { lines: true, limit: 4_000 })}</bdi>
      </dd>
      {origin !== '' && (
        <dd className="dim">
          <Words limit={300}>{origin}</Words>
        </dd>
      )}
      {warnings.map((warning) => (
        <dd key={warning} className="warning">
          <Icon name="alert" /> <Words limit={400}>{warning}</Words>
        </dd>
      ))}
    </div>
  )
}
