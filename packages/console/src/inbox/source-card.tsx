import { displayText } from '@provost/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

import { Icon } from '../look/icon.tsx'
import { LabelChips } from '../look/label-chips.tsx'
import { Words } from '../look/words.tsx'
import { isWithin } from '../wire/read-json.ts'
import type { Argument, Hit, Source } from './evidence.ts'
import type { SourceText } from './source-text.ts'
import { sourceQuery } from './source-text.ts'

/** The view that shows an entry. */
const placeView = 'timeline'

/** A text that values came from, with these values marked in it. */
export function SourceCard({
  sessionId,
  source,
  args,
}: {
  readonly sessionId: string
  readonly source: Source
  readonly args: readonly Argument[]
}): ReactNode {
  const found = useQuery(sourceQuery(sessionId, source))
  const views = [...new Set(source.hits.map(({ view }) => view))].filter((view) => view !== 'verbatim')
  return (
    <article className={`source ${source.isAskedAbout ? 'bad' : ''}`} data-source={source.key}>
      <header>
        <strong>
          <Words limit={120}>{source.name}</Words>
        </strong>
        <span className="dim">
          {found.data && (
            <>
              <Words limit={80}>{found.data.agent}</Words> step {found.data.step} ·{' '}
            </>
          )}
          <Link
            to="/sessions/$id/$view"
            params={{ id: sessionId, view: placeView }}
            search={{ log: found.data?.log === sessionId ? undefined : found.data?.log, entry: source.offset }}
          >
            entry {source.offset}
          </Link>
        </span>
        <span className="grow" />
        <LabelChips label={found.data?.label} />
      </header>
      {found.isPending && <div className="excerpt dim">…</div>}
      {found.data && (
        <pre className="excerpt" ref={showMark} tabIndex={0} role="region" aria-label={`Text of ${source.name}`}>
          <Excerpt text={found.data} hits={source.hits} args={args} />
        </pre>
      )}
      {found.data === null && (
        <p className="dim">The entry does not have this text any more. It may have been deleted or withheld.</p>
      )}
      {found.error && <p className="hot">{found.error.message}</p>}
      {views.length > 0 && (
        <p className="dim">
          <Icon name="alert" /> the call writes it as {views.join(', ')}
        </p>
      )}
    </article>
  )
}

/** Scrolls a long text to its first value. */
function showMark(box: HTMLPreElement | null): void {
  const mark = box?.querySelector<HTMLElement>('mark.bad') ?? box?.querySelector<HTMLElement>('mark')
  if (box && mark) box.scrollTop = mark.offsetTop - box.offsetTop - box.clientHeight / 2
}

function Excerpt({
  text: { text, start, isWhole, label },
  hits,
  args,
}: {
  readonly text: SourceText
  readonly hits: readonly Hit[]
  readonly args: readonly Argument[]
}): ReactNode {
  const out: ReactNode[] = []
  let at = 0
  const plain = (from: number, to: number): string => displayText(text.slice(from, to), { lines: true })
  for (const { argument, from } of hits) {
    const [first, last] = [from.start - start, from.end - start]
    if (first < at || last > text.length) continue
    const arg = args.find(({ pointer }) => isWithin(argument, pointer))
    const tone = arg?.isAskedAbout ? 'bad' : label?.integrity === 'trusted' ? '' : 'theirs'
    out.push(
      plain(at, first),
      <mark
        key={`${from.start} ${argument}`}
        className={tone}
        data-spot={arg?.pointer ?? ''}
        title={`becomes ${arg?.name ?? argument}`}
      >
        {plain(first, last)}
      </mark>,
    )
    at = last
  }
  return (
    <>
      {!isWhole && start > 0 && '… '}
      {out}
      {plain(at, text.length)}
      {!isWhole && ' …'}
    </>
  )
}
