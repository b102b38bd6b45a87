/** Whether everything is tried, or by default a sample of it. */
export const full: boolean = process.env['PROVOST_TEST_FULL'] === '1'
