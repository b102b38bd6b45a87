import { keepPreviousData, queryOptions } from '@tanstack/react-query'

import { consoleApi } from '../wire/console-api.ts'

/** The state of a log after an entry. */
export const stateQuery = (id: string, log: string, at: number) =>
  queryOptions({
    // The state at an entry never changes.
    queryKey: ['state', id, log, at] as const,
    queryFn: ({ signal }) => consoleApi.state(id, { log, at }, signal),
    placeholderData: keepPreviousData,
  })
