import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useRef, useState } from 'react'

import { showToast } from '../frame/toast.tsx'
import { bytes } from '../look/measures.ts'
import { problemLine } from '../look/states.tsx'
import { Words } from '../look/words.tsx'
import { consoleApi } from '../wire/console-api.ts'
import { accessQuery, queries } from '../wire/queries.ts'

/** Bytes of a request that the route reads. */
const mostBytes = 67_108_864

/** Imports an export from a file, and opens the session. Shown to the role `operate` alone, which the route needs. */
export function ImportButton(): ReactNode {
  const { data: access } = useQuery(accessQuery)
  const navigate = useNavigate()
  const [busy, setBusy] = useState<string>()
  const [problem, setProblem] = useState<string>()
  const picker = useRef<HTMLInputElement>(null)
  if (access?.role !== 'operate') return null

  async function load(file: File): Promise<void> {
    setProblem(undefined)
    setBusy(`Importing ${file.name}, ${bytes(file.size)}`)
    try {
      const lines = await file.text()
      const size = new Blob([JSON.stringify({ lines })]).size
      if (size > mostBytes) {
        setProblem(
          `${file.name} makes a request of ${bytes(size)}; the server reads ${bytes(mostBytes)}. Import it with importSession in a program.`,
        )
        return
      }
      const { sessionId: id, entries, trusted, existing } = await consoleApi.import({ lines })
      // Lists, and the page of a session that was not there before.
      void queries.invalidateQueries()
      const kind = trusted ? 'trusted' : 'untrusted'
      showToast({
        id: `import ${id}`,
        text: existing ? 'The server has this session already.' : `Imported ${entries} entries as ${kind}.`,
      })
      await navigate({ to: '/sessions/$id/$view', params: { id, view: 'log' } })
    } catch (error) {
      setProblem(`${file.name} was not imported. ${problemLine(error)}`)
    } finally {
      setBusy(undefined)
    }
  }

  return (
    <>
      <button type="button" disabled={busy !== undefined} onClick={() => picker.current?.click()}>
        Import…
      </button>
      <input
        ref={picker}
        type="file"
        hidden
        aria-label="A file with an export"
        accept=".jsonl,application/x-ndjson"
        onChange={({ currentTarget }) => {
          const [file] = currentTarget.files ?? []
          if (file) void load(file)
          // The same file can be chosen again.
          currentTarget.value = ''
        }}
      />
      <span className="dim" role="status">
        <Words limit={200}>{busy ?? ''}</Words>
      </span>
      {problem !== undefined && (
        <p className="hot import-problem" role="alert">
          <Words limit={600}>{problem}</Words>
        </p>
      )}
    </>
  )
}
