import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRef, useState } from 'react'

import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery, queries } from '../wire/queries.ts'

/** Exports a session to a file, and imports one. */
export function CopyBar({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const navigate = useNavigate()
  const [said, setSaid] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const picker = useRef<HTMLInputElement>(null)
  const mayOperate = access?.role === 'operate'

  async function tried(work: () => Promise<string>): Promise<void> {
    setIsBusy(true)
    setSaid('')
    try {
      setSaid(await work())
    } catch (error) {
      setSaid(problemLine(error))
    } finally {
      setIsBusy(false)
    }
  }

  const save = (reader: 'outside' | undefined): void =>
    void tried(async () => {
      const lines = await consoleApi.export(sessionId, { for: reader })
      download(`${sessionId}${reader ? '-outside' : ''}.jsonl`, lines)
      return `Exported ${lines.split('\n').length - 1} lines${reader ? ', without reasoning, prompts, secrets and the audit trail' : ''}.`
    })

  const load = (file: File | undefined): void => {
    if (!file) return
    void tried(async () => {
      const { sessionId: id, entries, trusted, existing } = await consoleApi.import({ lines: await file.text() })
      await queries.invalidateQueries({ queryKey: ['sessions'] })
      await navigate({ to: '/sessions/$id/$view', params: { id, view: 'log' } })
      const kind = trusted ? 'trusted' : 'untrusted'
      return existing ? 'The server has this session already.' : `Imported ${entries} entries as ${kind}.`
    })
  }

  return (
    <span className="raw-copy">
      <button type="button" disabled={isBusy} onClick={() => save('outside')}>
        Export for outside
      </button>
      {mayOperate && (
        <>
          <button type="button" disabled={isBusy} onClick={() => save(undefined)}>
            Export all
          </button>
          <button type="button" disabled={isBusy} onClick={() => picker.current?.click()}>
            Import…
          </button>
          <input
            ref={picker}
            type="file"
            hidden
            aria-label="A file with an export"
            accept=".jsonl,application/x-ndjson"
            onChange={({ target }) => {
              load(target.files?.[0])
              target.value = ''
            }}
          />
        </>
      )}
      <span className="dim" role="status">
        <Words limit={400}>{said}</Words>
      </span>
    </span>
  )
}

function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}
