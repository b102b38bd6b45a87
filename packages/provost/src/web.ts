// Public web pages.
export { webFetchTool } from '@provost/tools'
export type { WebFetchOptions, WebFetchResult, HostLookup } from '@provost/tools'
