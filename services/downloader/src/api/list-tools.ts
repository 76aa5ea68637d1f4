import type { ListToolsResponse } from '@wharf/proto/downloader';

/** The tool that is part of Wharf. */
export const BUILT_IN_TOOL = 'SimpleHttp';

/** public/offline_download_tools: the tools that are ready. */
export const listToolsHandler = () => async (): Promise<ListToolsResponse> => ({ names: [BUILT_IN_TOOL] });
