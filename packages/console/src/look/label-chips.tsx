import type { ReactNode } from 'react'

import { Icon } from './icon.tsx'
import { Words } from './words.tsx'

/** A label as the log has it. */
export interface ShownLabel {
  readonly integrity: string
  readonly confidentiality: string
  readonly readers?: readonly string[] | undefined
  readonly sources: readonly string[]
}

/** What a label says, in words and colours. `public` and `internal` without readers are not worth a chip. */
export function LabelChips({ label }: { readonly label: ShownLabel | undefined }): ReactNode {
  if (!label) return null
  const isTrusted = label.integrity === 'trusted'
  return (
    <span className="chips">
      <span className={`chip ${isTrusted ? 'trusted' : 'untrusted'}`} title={sourcesOf(label)}>
        <Icon name={isTrusted ? 'check' : 'alert'} /> {isTrusted ? 'trusted' : 'untrusted'}
      </span>
      {label.confidentiality === 'secret' && (
        <span className="chip secret">
          <Icon name="lock" /> secret
        </span>
      )}
      {label.readers && (
        <span className="chip">
          {label.readers.length === 0 ? 'no readers' : 'only for '}
          <Words limit={120}>{label.readers.join(', ')}</Words>
        </span>
      )}
    </span>
  )
}

function sourcesOf({ sources }: ShownLabel): string {
  if (sources.length === 0) return 'from no outside source'
  const more = sources.length > 8 ? ` and ${sources.length - 8} more` : ''
  return `from ${sources.slice(0, 8).join(', ')}${more}`
}
