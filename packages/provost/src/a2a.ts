// Remote agents, over A2A.
export { a2aTool } from '@provost/tools'
export type { A2aToolInput, A2aToolOptions, A2aToolResult } from '@provost/tools'
