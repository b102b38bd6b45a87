import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useState } from 'react'

import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { ImportButton } from '../sessions/import-button.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery } from '../wire/queries.ts'

/** Exports a session to a file, and imports one. A failure is announced at once. */
export function CopyBar({ sessionId }: { readonly sessionId: string }): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const [said, setSaid] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const mayOperate = access?.role === 'operate'

  async function tried(work: () => Promise<string>): Promise<void> {
    setIsBusy(true)
    setSaid('')
    setProblem(undefined)
    try {
      setSaid(await work())
    } catch (error) {
      setProblem(problemLine(error))
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

  return (
    <span className="raw-copy">
      <button type="button" disabled={isBusy} onClick={() => save('outside')}>
        Export for outside
      </button>
      {mayOperate && (
        <button type="button" disabled={isBusy} onClick={() => save(undefined)}>
          Export all
        </button>
      )}
      <ImportButton />
      <span className="dim" role="status">
        <Words limit={400}>{said}</Words>
      </span>
      {problem !== undefined && (
        <span className="hot" role="alert">
          <Words limit={400}>{problem}</Words>
        </span>
      )}
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
