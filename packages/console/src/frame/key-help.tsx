import type { ReactNode } from 'react'
import { useEffect, useRef } from 'react'

import { useKeyGroups, useKeySwitch } from '../keys/key-map.ts'
import { Icon } from '../look/icon.tsx'

/** The keys of the views that are shown, and the switch that turns them off. */
export function KeyHelp({ onClose }: { readonly onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null)
  const groups = useKeyGroups()
  const [on, toggle] = useKeySwitch()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="key-help" onClose={onClose}>
      <div className="dialog-head">
        <h2 id="key-help">Keys</h2>
        <button type="button" className="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="cross" />
        </button>
      </div>
      {groups.map(({ title, bindings }) => (
        <section key={title}>
          <h3>{title}</h3>
          <dl className="keys">
            {bindings.map(({ key, also = [], does }) => (
              <div key={key}>
                <dt>
                  {[key, ...also].map((one) => (
                    <kbd key={one}>{names[one] ?? one}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <label className="check">
        <input type="checkbox" checked={on} onChange={toggle} /> Keys without Ctrl or ⌘ are on
      </label>
    </dialog>
  )
}

const names: Readonly<Record<string, string>> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
}
